import { httpRequest, startStandalone, startStoreProcess } from '@wharf/harness';
import { expect, onTestFinished, test } from 'vitest';

const START_LIMIT_MS = 120_000;
const HOUR_MS = 3_600_000;
const BEHIND = `data:text/javascript,const{now}=Date;Date.now=()=>now()-${HOUR_MS}`;

test(
  'one process with a store elsewhere has the time of the store',
  async () => {
    const store = await startStoreProcess();
    onTestFinished(() => store.stop());
    const wharf = await startStandalone({ env: { MONGO_URL: store.url, NODE_OPTIONS: `--import=${BEHIND}` } });
    onTestFinished(async () => void (await wharf.stop()));
    const answer = await httpRequest(wharf.base, {
      method: 'POST',
      path: '/api/auth/login',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ username: 'admin', password: wharf.adminPassword }),
    });
    const { token } = (answer.json() as { data: { token: string } }).data;
    const { iat } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect(Math.abs(Date.now() - 1000 * iat)).toBeLessThan(HOUR_MS / 2);
    expect(wharf.log()).toContain('the clock of this machine differs from that of the store');
  },
  START_LIMIT_MS,
);
