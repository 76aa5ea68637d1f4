import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureCommand } from './debian-package.ts';
import { onFreePort } from './free-port.ts';
import { startProcess } from './process.ts';
import { isMissing, type Missing } from './required.ts';
import { makeTempDir } from './temp-dir.ts';
import { waitFor } from './wait-for.ts';

/**
 * The reverse proxy that most people put in front, as they have it: bodies and answers are buffered, HTTP/1.0 goes to what is behind it. One that sends files
 * by itself keeps its connections.
 */
export interface Nginx {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Its master, whose child does the work. */
  readonly pid: number;
  /** Ends it and deletes its folder; safe to call twice. */
  stop(): Promise<void>;
}

export interface NginxOptions {
  /** Where it hands requests to, in turns. */
  readonly to: string | readonly string[];
  /** Its `client_max_body_size`, such as `100m`. */
  readonly maxBody: string;
  /** What it sends by itself where Wharf says so, as docs/operations.md has it. */
  readonly files?: { readonly location: string; readonly folder: string };
}

const FILE_HEADERS = fileURLToPath(new URL('../../../deploy/nginx/file-headers.conf', import.meta.url));

export async function startNginx({ to, maxBody, files }: NginxOptions): Promise<Nginx | Missing> {
  const program = await ensureCommand('nginx', 'nginx-light');
  if (isMissing(program)) return program;
  const dir = await makeTempDir('nginx');
  const config = join(dir.path, 'nginx.conf');
  const start = async (port: number) => {
    await writeFile(config, configOf({ dir: dir.path, port, to: [to].flat(), maxBody, ...(files && { files }) }));
    const running = await startProcess({
      name: 'nginx',
      command: program.path,
      args: ['-p', dir.path, '-c', config],
      // It says so at the level notice, once it listens.
      ready: { line: (line) => line.includes('start worker processes') || undefined },
    });
    return { running, url: `http://127.0.0.1:${port}` };
  };
  try {
    const { running, url } = await onFreePort(start);
    await waitFor('nginx to answer', () => fetch(url).then(() => true));
    return {
      url,
      pid: running.pid,
      async stop() {
        await running.stop();
        await dir.remove();
      },
    };
  } catch (error) {
    await dir.remove();
    throw error;
  }
}

function configOf({
  dir,
  port,
  to,
  maxBody,
  files,
}: Omit<NginxOptions, 'to'> & { dir: string; port: number; to: readonly string[] }): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir}/${name};`).join('\n  ');
  const own =
    files && `location ${files.location}/ { alias ${files.folder}/; disable_symlinks on from=${files.folder}; include ${FILE_HEADERS}; }`;
  // Root's workers would not be allowed into the folder as nobody.
  return `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${dir}/nginx.pid;
error_log stderr notice;
events {}
http {
  access_log off;
  sendfile on;
  ${temporary}
  upstream wharf {
    ${to.map((address) => `server ${new URL(address).host};`).join('\n    ')}
    ${files ? 'keepalive 32;' : ''}
  }
  server {
    listen 127.0.0.1:${port};
    client_max_body_size ${maxBody};
    ${own ?? ''}
    location / {
      proxy_pass http://wharf;
      ${files ? `proxy_http_version 1.1; proxy_set_header Connection '';` : ''}
      proxy_set_header Host $http_host;
    }
  }
}
`;
}
