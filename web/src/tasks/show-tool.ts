import { t } from '../i18n/i18n.ts';

/** What the API calls the downloads that Wharf does by itself. */
export const OWN_TOOL = 'SimpleHttp';

/** A download tool as people know it. */
export const showTool = (tool: string): string => (tool === OWN_TOOL ? t('toolOwn') : tool);
