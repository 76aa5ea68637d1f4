import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureCommand } from './debian-package.ts';
import { onFreePort } from './free-port.ts';
import { startProcess } from './process.ts';
import { isMissing, type Missing } from './required.ts';
import { makeTempDir } from './temp-dir.ts';
import { waitFor } from './wait-for.ts';

/** The reverse proxy that most people put in front, as they have it: bodies and answers are buffered, HTTP/1.0 goes to what is behind it. */
export interface Nginx {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Ends it and deletes its folder; safe to call twice. */
  stop(): Promise<void>;
}

/** @param to where it hands requests to, in turns. @param maxBody its `client_max_body_size`, such as `100m` */
export async function startNginx({ to, maxBody }: { to: string | readonly string[]; maxBody: string }): Promise<Nginx | Missing> {
  const program = await ensureCommand('nginx', 'nginx-light');
  if (isMissing(program)) return program;
  const dir = await makeTempDir('nginx');
  const config = join(dir.path, 'nginx.conf');
  const start = async (port: number) => {
    await writeFile(config, configOf({ dir: dir.path, port, to: [to].flat(), maxBody }));
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

function configOf({ dir, port, to, maxBody }: { dir: string; port: number; to: readonly string[]; maxBody: string }): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${dir}/${name};`).join('\n  ');
  // Root's workers would not be allowed into the folder as nobody.
  return `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${dir}/nginx.pid;
error_log stderr notice;
events {}
http {
  access_log off;
  ${temporary}
  upstream wharf {
    ${to.map((address) => `server ${new URL(address).host};`).join('\n    ')}
  }
  server {
    listen 127.0.0.1:${port};
    client_max_body_size ${maxBody};
    location / {
      proxy_pass http://wharf;
      proxy_set_header Host $http_host;
    }
  }
}
`;
}
