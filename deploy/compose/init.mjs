// Makes the secrets of compose.yaml, each once; what is there stays. usage: node deploy/compose/init.mjs [FOLDER]
import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = process.argv[2] ?? fileURLToPath(new URL('secrets', import.meta.url));
// Nobody but its owner gets into the folder; the users of the containers read the files.
mkdirSync(folder, { recursive: true, mode: 0o700 });

const random = () => randomBytes(32).toString('base64url');
/** As qBittorrent keeps a password. */
const pbkdf2 = (password) => {
  const salt = randomBytes(16);
  return `@ByteArray(${salt.toString('base64')}:${pbkdf2Sync(password, salt, 100_000, 64, 'sha512').toString('base64')})`;
};

secret('wharf_secret', random);
secret('admin_password', random);
secret('mongo_url', () => 'mongodb://store:27017/wharf');
const natsToken = secret('nats_token', random);
secret('nats_url', () => `nats://${natsToken}@nats:4222`);
secret('nats_conf', () => `listen: 0.0.0.0:4222\nauthorization { token: "${natsToken}" }`);
const aria2Secret = secret('aria2_secret', random);
secret('aria2_conf', () =>
  [
    ...['enable-rpc=true', 'rpc-listen-all=true', 'rpc-listen-port=6800', `rpc-secret=${aria2Secret}`, 'dir=/downloads'],
    ...['enable-dht=false', 'enable-dht6=false', 'bt-enable-lpd=false', 'save-session=/tmp/aria2.session', 'save-session-interval=10'],
  ].join('\n'),
);
const torrentPassword = secret('qbittorrent_password', random);
secret('qbittorrent_conf', () =>
  [
    ...['[LegalNotice]', 'Accepted=true', '', '[BitTorrent]', 'Session\\DefaultSavePath=/downloads', '', '[Preferences]'],
    ...['WebUI\\Enabled=true', 'WebUI\\Address=0.0.0.0', 'WebUI\\Port=8080', 'WebUI\\UseUPnP=false', 'WebUI\\Username=wharf'],
    ...[`WebUI\\Password_PBKDF2="${pbkdf2(torrentPassword)}"`, 'WebUI\\ServerDomains=qbittorrent'],
  ].join('\n'),
);
console.log(`The secrets are in ${folder}; the password of admin is in admin_password.`);

/** The text of a secret, made when it is not there. */
function secret(name, make) {
  const file = join(folder, name);
  if (!existsSync(file)) writeFileSync(file, `${make()}\n`, { mode: 0o444, flag: 'wx' });
  return readFileSync(file, 'utf8').trim();
}
