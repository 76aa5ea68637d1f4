import { z } from 'zod';
import { boolItem, textItem } from '../../driver-contract/config-items.ts';

const SAMPLE = `papers:
  rfc9110.txt:https://www.rfc-editor.org/rfc/rfc9110.txt
  older:
    rfc2616.txt:422279:929404800:https://www.rfc-editor.org/rfc/rfc2616.txt
https://www.rfc-editor.org/rfc/rfc6749.txt`;

/** Names, order and defaults are the family's (docs/api-family.md#driver-templates). */
export const urlTreeConfigSchema = z.object({
  url_structure: textItem({
    default: SAMPLE,
    required: true,
    help: 'Two spaces a level. name: is a folder; [name:][bytes:][date in seconds:]address is a file.',
  }),
  head_size: boolItem({ default: false, help: 'Asks the server (HEAD) for sizes that are not given.' }),
  writable: boolItem({ default: false, help: 'Kept for other programs: files are changed in this form.' }),
});
