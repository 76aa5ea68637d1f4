import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError, configKey, readConfig, schemas, taskKeys } from './config.ts';
import { Secret } from './secret.ts';

const definition = {
  port: configKey('PORT', schemas.port(5244), 'The port.'),
  secret: configKey('SECRET', schemas.secret, 'The secret.'),
  origins: configKey('ORIGINS', schemas.list, 'Origins.'),
} as const;
const SECRET = 'x'.repeat(32);

describe('configuration', () => {
  it('absent and empty variables take their default', () => {
    expect(readConfig(definition, { SECRET, PORT: '' })).toMatchObject({ port: 5244, origins: [] });
  });

  it('texts are read by their schema', () => {
    const config = readConfig(definition, { SECRET, PORT: '0', ORIGINS: ' a , ,b' });
    expect([config.port, config.origins, config.secret.reveal()]).toEqual([0, ['a', 'b'], SECRET]);
  });

  it('all problems are told at once, without the values', () => {
    const read = () => readConfig(definition, { SECRET: 'short-secret', PORT: '99999' });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(/PORT: .*\n.*SECRET: must be at least 32 bytes/s);
    expect(read).not.toThrow(/short-secret/);
  });

  it('the tasks of all have no limit, or one that leaves room for a big download', () => {
    const read = (text: string) => readConfig(taskKeys, { WHARF_TASKS_OF_ALL: text }).tasksOfAll;
    expect([read(''), read('0'), read('1000')]).toEqual([undefined, Number.POSITIVE_INFINITY, 1_000]);
    for (const text of ['999', '1', '-1', '1000.5']) expect(() => read(text)).toThrow(ConfigError);
  });

  it('a variable without a default is documented as required', () => {
    expect([definition.secret.shownDefault, definition.port.shownDefault, definition.origins.shownDefault]).toEqual([
      'required',
      '`5244`',
      'empty',
    ]);
  });

  describe('a variable that may be in a file', () => {
    const inFile = { secret: configKey('SECRET', schemas.secret, 'The secret.', { mayBeInFile: true }), port: definition.port };
    const folder = mkdtempSync(join(tmpdir(), 'config-'));
    const file = join(folder, 'secret');
    writeFileSync(file, `${SECRET}\n`);
    afterAll(() => rmSync(folder, { recursive: true }));

    it('is read from there, without the line break at its end', () => {
      expect(readConfig(inFile, { SECRET_FILE: file }).secret.reveal()).toBe(SECRET);
      expect(readConfig(inFile, { SECRET_FILE: '', SECRET }).secret.reveal()).toBe(SECRET);
    });

    it.each([
      ['is refused when it is set twice', { SECRET, SECRET_FILE: file }, /SECRET and SECRET_FILE: set one of them/],
      ['is refused when the file is not there', { SECRET_FILE: join(folder, 'none') }, /SECRET_FILE: .*ENOENT/],
      ['is refused when the file has too little', { SECRET_FILE: '/dev/null' }, /SECRET: must be set/],
    ])('%s', (_title, environment, problem) => {
      expect(() => readConfig(inFile, environment)).toThrow(problem);
    });

    it('is no other variable', () => {
      expect(readConfig(inFile, { SECRET, PORT_FILE: file }).port).toBe(5244);
    });
  });

  it('a secret shows itself to nobody but who asks', () => {
    const secret = new Secret('canary');
    expect([String(secret), JSON.stringify({ secret }), inspect(secret)].join()).not.toContain('canary');
    expect(secret.reveal()).toBe('canary');
  });
});
