import { freePort } from '@wharf/harness';

type Environment = Readonly<Record<string, string>>;

/** Where the first replica of each service is to listen, and what all are told of it, as parts of their environments. */
export interface ServicePorts {
  readonly addresses: Environment;
  readonly own: Readonly<Record<'auth' | 'admin' | 'fs' | 'downloader', Environment>>;
}

export async function servicePorts(): Promise<ServicePorts> {
  const [auth, admin, fs, data, downloader] = [await freePort(), await freePort(), await freePort(), await freePort(), await freePort()];
  return {
    addresses: {
      WHARF_AUTH_ADDR: `127.0.0.1:${auth}`,
      WHARF_ADMIN_ADDR: `127.0.0.1:${admin}`,
      WHARF_FS_ADDR: `127.0.0.1:${fs}`,
      WHARF_FS_DATA_URL: `http://127.0.0.1:${data}`,
      WHARF_DOWNLOADER_ADDR: `127.0.0.1:${downloader}`,
    },
    own: {
      auth: { WHARF_GRPC_PORT: String(auth) },
      admin: { WHARF_GRPC_PORT: String(admin) },
      fs: { WHARF_GRPC_PORT: String(fs), WHARF_DATA_PORT: String(data) },
      downloader: { WHARF_GRPC_PORT: String(downloader) },
    },
  };
}
