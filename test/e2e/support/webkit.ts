import { globSync } from 'node:fs';
import { at, ensureCommand, freePort, isMissing, type Missing, startProcess } from '@wharf/harness';

/** How long something may take on a machine that is busy. */
const PATIENCE_MS = 60_000;
/** What WebDriver calls the name of an element. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';
const BROWSERS = '/usr/lib/*/webkit2gtk-4.*/MiniBrowser';

/** A window of WebKit, the engine of Safari, driven by WebDriver: what the tests need of it. */
export interface WebKitPage {
  open(address: string): Promise<void>;
  /** Waits for what an XPath finds, and clicks on it. */
  click(path: string): Promise<void>;
  write(path: string, text: string): Promise<void>;
  /** Waits for what an XPath finds. */
  see(path: string): Promise<void>;
  /** The body of a function. */
  run(script: string): Promise<unknown>;
  close(): Promise<void>;
}

/** Debian's WebKitGTK, on a screen that nobody sees; whoever opened it closes it. */
export async function openWebKit(): Promise<WebKitPage | Missing> {
  const screen = await ensureCommand('Xvfb', 'xvfb');
  if (isMissing(screen)) return screen;
  const driver = await ensureCommand('WebKitWebDriver', 'webkit2gtk-driver');
  if (isMissing(driver)) return driver;
  const [browser] = globSync(BROWSERS);
  if (browser === undefined) return { missing: `there is no ${BROWSERS} (Debian package libwebkit2gtk-4.1-0)` };
  const shown = await startProcess({
    name: 'Xvfb',
    command: screen.path,
    args: ['-displayfd', '1', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'],
    ready: { line: (line) => (/^\d+$/.test(line) ? `:${line}` : undefined) },
  });
  try {
    const port = await freePort();
    const base = `http://127.0.0.1:${port}`;
    const driving = await startProcess({
      name: 'WebKitWebDriver',
      command: driver.path,
      args: [`--port=${port}`, '--host=127.0.0.1'],
      env: { ...process.env, DISPLAY: shown.ready, WEBKIT_DISABLE_COMPOSITING_MODE: '1', LIBGL_ALWAYS_SOFTWARE: '1' },
      ready: { probe: async () => (await fetch(`${base}/status`)).ok || undefined },
    });
    const close = async () => {
      await driving.stop();
      await shown.stop();
    };
    try {
      const options = { binary: browser, args: ['--automation'] };
      const made = await send(base, '/session', { capabilities: { alwaysMatch: { 'webkitgtk:browserOptions': options } } });
      return await drive(`${base}/session/${String(at(made, 'sessionId'))}`, close);
    } catch (error) {
      await driving.stop();
      throw error;
    }
  } catch (error) {
    await shown.stop();
    throw error;
  }
}

async function drive(session: string, close: () => Promise<void>): Promise<WebKitPage> {
  await send(session, '/timeouts', { script: PATIENCE_MS, implicit: PATIENCE_MS });
  const find = async (path: string) => String(at(await send(session, '/element', { using: 'xpath', value: path }), ELEMENT));
  return {
    async open(url) {
      await send(session, '/url', { url });
    },
    async click(path) {
      await send(session, `/element/${await find(path)}/click`, {});
    },
    async write(path, text) {
      await send(session, `/element/${await find(path)}/value`, { text });
    },
    async see(path) {
      await find(path);
    },
    run: (script) => send(session, '/execute/sync', { script, args: [] }),
    async close() {
      await fetch(session, { method: 'DELETE' });
      await close();
    },
  };
}

/** @returns the value of the answer */
async function send(base: string, path: string, body: unknown): Promise<unknown> {
  const signal = AbortSignal.timeout(2 * PATIENCE_MS);
  const answer = await fetch(base + path, { method: 'POST', body: JSON.stringify(body), signal });
  const value = at(await answer.json(), 'value');
  if (!answer.ok) throw new Error(`WebDriver ${path}: ${String(at(value, 'message'))}`);
  return value;
}
