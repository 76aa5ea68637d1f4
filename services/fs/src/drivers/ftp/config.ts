import { z } from 'zod';
import { boolItem, certificateItem, selectItem, stringItem } from '../../driver-contract/config-items.ts';

/** The first six are the family's, in its order. */
export const ftpConfigSchema = z.object({
  address: stringItem({
    required: true,
    help: 'Host and port of the server, as in files.example.org:21. Without a port it is 21, or 990 for implicit TLS.',
  }),
  encoding: stringItem({ default: 'utf-8', required: true, help: 'The character set of names, such as utf-8, gbk or windows-1252.' }),
  username: stringItem({ required: true, help: 'Who to log in as.' }),
  password: stringItem({ secret: true, required: true, help: 'The password.' }),
  cwd_list: boolItem({ default: false, help: 'Change into a folder before it is listed, for servers that list no other.' }),
  root_folder_path: stringItem({ default: '/', required: true, help: 'The folder of the server that is shown. It must exist.' }),
  encryption: selectItem(['explicit', 'implicit', 'none'], {
    default: 'explicit',
    help: 'explicit: TLS on the usual port. implicit: TLS from the first byte. none: anybody on the way reads the password and all content.',
  }),
  tls_insecure_skip_verify: boolItem({
    default: false,
    trustsAnyServer: true,
    help: 'Take any certificate: whoever is on the way can pass for the server.',
  }),
  tls_certificate: certificateItem(),
});
