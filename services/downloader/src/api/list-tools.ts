import type { ListToolsResponse } from '@wharf/proto/downloader';

/** The tool that is part of Wharf. */
const BUILT_IN = 'SimpleHttp';

/** public/offline_download_tools: the tools that are ready. */
export const listToolsHandler = () => async (): Promise<ListToolsResponse> => ({ names: [BUILT_IN] });
