import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCommand, startProcess } from './process.ts';
import { waitFor } from './wait-for.ts';

const NEVER_ENDS = 'setInterval(() => undefined, 1000);';

const node = (script: string) => ({ name: 'the child', command: process.execPath, args: ['-e', script] });

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('startProcess', () => {
  it('is ready at the first line the condition accepts, and keeps the output', async () => {
    const child = await startProcess({
      ...node(`console.log('one'); console.error('two'); console.log('port=12'); ${NEVER_ENDS}`),
      ready: { line: (line) => /^port=(\d+)$/.exec(line)?.[1] },
    });
    expect(child.ready).toBe('12');
    await waitFor('all output', () => child.output().includes('two'));
    expect(child.output()).toContain('one\n');
    expect(await child.stop()).toEqual({ code: null, signal: 'SIGTERM' });
    expect(isAlive(child.pid)).toBe(false);
  });

  it('is ready when the probe answers; a probe that throws means not yet', async () => {
    let tries = 0;
    const child = await startProcess({
      ...node(NEVER_ENDS),
      ready: {
        probe: async () => {
          tries += 1;
          if (tries < 3) throw new Error('not yet');
          return tries;
        },
      },
    });
    expect(child.ready).toBe(3);
    await child.stop();
  });

  it('keeps only the end of a long output', async () => {
    const child = await startProcess({
      ...node(`for (let i = 0; i < 5000; i++) console.log('line ' + i); console.log('done'); ${NEVER_ENDS}`),
      ready: { line: (line) => (line === 'done' ? true : undefined) },
      outputLimit: 1000,
    });
    expect(child.output()).toHaveLength(1000);
    expect(child.output().endsWith('line 4999\ndone\n')).toBe(true);
    await child.kill();
  });

  it('a process that ends before it is ready is an error with its output', async () => {
    const started = startProcess({ ...node(`console.error('no such port'); process.exit(3)`), ready: { line: () => undefined } });
    await expect(started).rejects.toThrow(/the child ended \(exit 3\) before it was ready.*no such port/s);
  });

  it('a command that does not exist is an error', async () => {
    const started = startProcess({ name: 'it', command: '/no/such/command', ready: { line: () => undefined } });
    await expect(started).rejects.toThrow(/it ended \(exit 127\)/);
  });

  it('a process that is not ready in time is killed and reported', async () => {
    let pid = 0;
    const started = startProcess({
      ...node(`console.log(process.pid); ${NEVER_ENDS}`),
      ready: {
        line: (line) => {
          pid = Number(line);
          return undefined;
        },
      },
      readyWithinMs: 500,
    });
    await expect(started).rejects.toThrow('the child was not ready within 500 ms');
    if (pid !== 0) expect(isAlive(pid)).toBe(false);
  });

  it('a process that ignores SIGTERM is killed after the limit', async () => {
    const child = await startProcess({
      ...node(`process.on('SIGTERM', () => console.log('no')); console.log('ready'); ${NEVER_ENDS}`),
      ready: { line: (line) => line === 'ready' || undefined },
      stopWithinMs: 200,
    });
    expect(await child.stop()).toEqual({ code: null, signal: 'SIGKILL' });
    expect(child.output()).toContain('no');
  });

  it('stopping twice, or after the end, answers how it ended', async () => {
    const child = await startProcess({
      ...node(`process.on('SIGTERM', () => process.exit(7)); console.log('ready'); ${NEVER_ENDS}`),
      ready: { line: (line) => line === 'ready' || undefined },
    });
    const [first, second] = await Promise.all([child.stop(), child.stop()]);
    expect([first, second, await child.stop(), await child.kill(), await child.exited]).toEqual(Array(5).fill({ code: 7, signal: null }));
  });

  it('what the process started ends with it', async () => {
    const grandchild = `require('node:child_process').spawn(process.execPath, ['-e', '${NEVER_ENDS}'], { stdio: 'inherit' })`;
    const child = await startProcess({
      ...node(`console.log(${grandchild}.pid); ${NEVER_ENDS}`),
      ready: { line: (line) => Number(line) || undefined },
    });
    expect(isAlive(child.ready)).toBe(true);
    await child.stop();
    await waitFor('the end of the grandchild', () => !isAlive(child.ready));
  });

  it.runIf(existsSync('/usr/bin/setpriv'))('the process ends when the one that started it is killed', async () => {
    const module = new URL('./process.ts', import.meta.url);
    // Not before the inner one runs has setpriv asked for its death.
    const script = `const { startProcess } = await import('${module}');
      const args = ['-e', 'console.log("runs"); ${NEVER_ENDS}'];
      const ready = { line: (line) => line === 'runs' || undefined };
      const child = await startProcess({ name: 'inner', command: process.execPath, args, ready });
      console.log('inner=' + child.pid);`;
    const outer = await startProcess({
      name: 'outer',
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script],
      ready: { line: (line) => Number(/^inner=(\d+)$/.exec(line)?.[1]) || undefined },
    });
    process.kill(outer.pid, 'SIGKILL');
    await outer.exited;
    await waitFor('the end of the inner process', () => !isAlive(outer.ready));
  });
});

describe('runCommand', () => {
  it('answers the exit code and both outputs', async () => {
    const result = await runCommand(process.execPath, ['-e', `console.log('out'); console.error('err'); process.exitCode = 4`]);
    expect(result).toEqual({ code: 4, stdout: 'out\n', stderr: 'err\n' });
  });

  it('kills a command that takes too long', async () => {
    await expect(runCommand(process.execPath, ['-e', NEVER_ENDS], { withinMs: 300 })).rejects.toThrow('was ended by SIGKILL');
  });
});
