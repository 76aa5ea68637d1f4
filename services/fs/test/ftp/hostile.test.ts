import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { createEgress, createEgressPolicy } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { isMissing, makeCertificate, waitFor } from '@wharf/harness';
import { describe, expect, it, onTestFinished } from 'vitest';
import { haveSameContent } from '../../src/domain/changing/same-content.ts';
import { leftNames, watchLooks } from '../../src/domain/testing/looks-in-one-turn.ts';
import { bytesOf, mpath } from '../../src/domain/testing/memory-tree.ts';
import { refusalOf } from '../../src/domain/testing/refusal.ts';
import { codeOf } from '../../src/driver-contract/conformance/driver-calls.ts';
import { plainContext } from '../../src/driver-contract/open-context.ts';
import type { StorageDriver } from '../../src/driver-contract/storage-driver.ts';
import { whileOpen } from '../../src/driver-contract/while-open.ts';
import { withLimits } from '../../src/driver-contract/with-limits.ts';
import { withPresentRoot } from '../../src/driver-contract/with-present-root.ts';
import { ftpConfigSchema } from '../../src/drivers/ftp/config.ts';
import { FtpDriver } from '../../src/drivers/ftp/driver.ts';
import { ftpDriver } from '../../src/drivers/ftp/index.ts';
import { LANES } from '../../src/drivers/ftp/session-pool.ts';
import { ftpSettings } from '../../src/drivers/ftp/settings.ts';
import { type HostileServer, SIZE, startHostile } from './hostile-server.ts';
import { itemsOf, openFtp } from './open-ftp.ts';

/** Both sides work in this process, on what takes a moment when nothing else runs. */
const LIMIT_MS = 30_000;
const fact = (name: string) => Buffer.from(`type=file;size=5;modify=20210304050607; ${name}\r\n`, 'latin1');
const namesIn = async (items: Record<string, unknown>) =>
  (await Array.fromAsync((await openFtp(items)).list(mpath('/')))).map(({ name }) => name);
const readAll = async (items: Record<string, unknown>, signal?: AbortSignal) => {
  let bytes = 0;
  for await (const piece of await (await openFtp(items)).read(mpath('/file'), undefined, { signal })) bytes += piece.byteLength;
  return bytes;
};
/** A storage that waits for 200 ms where it waits for minutes. */
async function openImpatient(server: HostileServer): Promise<FtpDriver> {
  const egress = createEgress(createEgressPolicy({ allow: [], forbidden: [], audience: 'admin' }));
  const items = JSON.parse(ftpDriver.normaliseAddition(JSON.stringify(itemsOf(server))));
  const driver = await FtpDriver.open(ftpSettings(ftpConfigSchema.parse(items)), plainContext({}, { egress }), 200);
  onTestFinished(() => driver.close());
  return driver;
}
const secretsIn = ({ commands }: HostileServer) => commands.filter((line) => /^(?:USER|PASS)/.test(line));

/** How a server replies that keeps files by their names, and replaces none by a rename. @param onRename told what is to be renamed, @param pretends whether it says that it gave a name and does not */
function keeping(
  files: Map<string, string>,
  onRename: (from: string) => void = () => undefined,
  pretends: (to: string) => boolean = () => false,
) {
  // Renames go on at once where there are several connections: the number at the end of a name tells them apart.
  const numberOf = (place: string) => /\d*$/.exec(place)?.[0] ?? '';
  const begun = new Map<string, string>();
  const listed = (place: string) =>
    `250-it is\r\n type=${place === '/root' ? 'dir' : 'file'};size=1;modify=20210304050607; ${place}\r\n250 End`;
  return (verb: string, place: string): string | undefined => {
    if (verb === 'MLST') return files.has(place) || place === '/root' ? listed(place) : '550 no';
    if (verb === 'RNFR') {
      begun.set(numberOf(place), place);
      onRename(place);
      return files.has(place) ? '350 to what' : '550 no';
    }
    if (verb === 'DELE') return files.delete(place) ? '250 gone' : '550 no';
    if (verb === 'STOR') files.set(place, '');
    if (verb !== 'RNTO') return undefined;
    if (pretends(place)) return '250 done';
    if (files.has(place)) return '553 taken';
    const from = begun.get(numberOf(place)) ?? '';
    files.set(place, files.get(from) ?? '');
    files.delete(from);
    return '250 done';
  };
}

/** A folder with two files on a server that breaks the connection as the one of them is to step aside; `moveAside` does that late, to what is there by then. */
async function openMovingLate(start: (answers: Parameters<typeof startHostile>[0]) => Promise<Pick<HostileServer, 'port'>>) {
  const files = new Map([
    ['/root/old', 'old content'],
    ['/root/file', 'new content'],
  ]);
  let aside = '';
  const server = await start({
    reply: keeping(files),
    cuts(verb, place) {
      const isFirst = verb === 'RNTO' && aside === '' && place.includes('aside');
      if (isFirst) aside = place;
      return isFirst;
    },
  });
  return {
    files,
    driver: await openFtp(itemsOf(server)),
    asidePlace: () => aside,
    moveAside: (content: string) => files.set(aside, content).delete('/root/old'),
  };
}

/** A server that takes one connection at a time, and ends each other one without a word. */
async function startNarrow(answers: Parameters<typeof startHostile>[0] = {}): Promise<{ port: number }> {
  let open = 0;
  const server = await startHostile(answers);
  const door = createServer((socket) => {
    if (open > 0) return void socket.destroy();
    open += 1;
    const inside = connect(server.port, '127.0.0.1');
    for (const each of [socket, inside]) each.on('error', () => undefined);
    socket.on('close', () => (open -= 1));
    socket.pipe(inside).pipe(socket);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void door.close());
  await once(door, 'listening');
  return { port: (door.address() as AddressInfo).port };
}

describe('an FTP server that is up to no good', { timeout: LIMIT_MS }, () => {
  it('cannot say names that lead elsewhere, or one twice (C4)', async () => {
    const names = [
      'ok',
      '.',
      '..',
      '',
      '../up',
      'a/b',
      '/etc/passwd',
      'nul\0name',
      'cr\rname',
      'back\\slash',
      'no\xfftext',
      'x'.repeat(300),
      'ok',
    ];
    expect(await namesIn(itemsOf(await startHostile({ data: () => names.map(fact) })))).toEqual(['ok']);
  });

  it('cannot keep the thread by names of ours, of which the system is asked for their process', async () => {
    const names = ['ok', ...leftNames(10_000).map((name) => `.wharf-tmp-${name}`)];
    const driver = await openFtp(itemsOf(await startHostile({ data: (verb) => (verb === 'MLSD' ? names.map(fact) : []) })));
    const mostLooks = watchLooks();
    expect((await Array.fromAsync(driver.list(mpath('/')))).map(({ name }) => name)).toEqual(['ok']);
    expect(mostLooks()).toBeLessThan(1_000);
  });

  it('cannot have us connect to another host for data', async () => {
    let came = 0;
    const elsewhere = createServer((socket) => {
      came += 1;
      socket.destroy();
    }).listen(0, '127.0.0.2');
    onTestFinished(() => void elsewhere.close());
    await waitFor('the other host', () => elsewhere.listening);
    const { port } = elsewhere.address() as { port: number };
    for (const [epsv, pasv] of [
      ['500 what', `227 go (127,0,0,2,${port >> 8},${port & 255})`],
      [`229 go (|1|127.0.0.2|${port}|)`, '500 what'],
    ]) {
      const server = await startHostile({ reply: (verb) => (verb === 'EPSV' ? epsv : verb === 'PASV' ? pasv : undefined) });
      expect((await refusalOf(openFtp(itemsOf(server)).then((driver) => Array.fromAsync(driver.list(mpath('/'))))))[0]).toBe(
        'STORAGE_UNAVAILABLE',
      );
    }
    expect(came).toBe(0);
  });

  it.each(['229 go (|||22|)', '229 go (|||0|)', '229 go (|||99999|)', '229 go', '229 go (|||-1|)'])(
    'cannot have us connect by %s',
    async (reply) => {
      const server = await startHostile({ reply: (verb) => (verb === 'EPSV' ? reply : undefined) });
      const [code, message] = await refusalOf(openFtp(itemsOf(server)).then((driver) => driver.read(mpath('/file'))));
      expect([code, message]).toEqual(['STORAGE_UNAVAILABLE', expect.stringContaining('no port')]);
    },
  );

  it.each([
    ['new names', (page: number) => Array.from({ length: 1_000 }, (_, index) => fact(`name-${page}-${index}`)), 'FAILED_PRECONDITION'],
    ['names that are none', () => Array.from({ length: 1_000 }, () => fact('..')), 'UNSUPPORTED_OPERATION'],
    ['one line', () => [Buffer.alloc(64 * 1024, 'x')], 'UNSUPPORTED_OPERATION'],
  ])('cannot send %s for ever', async (_what, pieces, code) => {
    let sent = 0;
    const data = function* () {
      for (let page = 0; ; page += 1) {
        for (const piece of pieces(page)) {
          sent += piece.byteLength;
          yield piece;
        }
      }
    };
    const server = await startHostile({ data: (verb) => (verb === 'MLSD' ? data() : []) });
    expect((await refusalOf(namesIn(itemsOf(server))))[0]).toBe(code);
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  it('cannot have a removal hold listings of folders in folders without end', { timeout: 2 * LIMIT_MS }, async () => {
    let listed = 0;
    // Each of them is too short to be counted by itself.
    const names = ['d', ...Array.from({ length: 999 }, (_, index) => `${'n'.repeat(85)}${index}`)];
    const folders = Buffer.from(names.map((name) => `type=dir; ${name}\r\n`).join(''));
    const server = await startHostile({
      reply: (verb) => (verb === 'DELE' || verb === 'RMD' ? '550 no' : undefined),
      data(verb, place) {
        if (verb !== 'MLSD' || !place.includes('/folder')) return [];
        listed += 1;
        return [folders];
      },
    });
    const driver = await openFtp(itemsOf(server));
    expect((await refusalOf(driver.remove(mpath('/folder'), { recursive: true })))[0]).toBe('FAILED_PRECONDITION');
    expect(listed).toBeLessThan(200);
  });

  it('has a folder removed file by file before what is in it, so that files of all levels are never held together', async () => {
    const files = Array.from({ length: 20 }, (_, index) => `type=file;size=1; f${index}\r\n`);
    const server = await startHostile({
      reply: (verb, place) => (verb === 'DELE' && !/\/f\d+$/.test(place) ? '550 no' : undefined),
      data: (verb, place) =>
        verb === 'MLSD' && /folder(?:\/d)?$/.test(place) ? [Buffer.from(['type=dir; d\r\n', ...files].join(''))] : [],
    });
    const driver = await openFtp(itemsOf(server));
    await driver.remove(mpath('/folder'), { recursive: true });
    const done = server.commands.filter((line) => /^(?:DELE \S*\/f\d+|MLSD|RMD)/.test(line)).map((line) => line.replace(/f\d+$/, 'f'));
    const last = done.slice(done.indexOf('MLSD /root/folder'));
    expect(last).toEqual([
      ...['MLSD /root/folder', ...files.map(() => 'DELE /root/folder/f')],
      ...['MLSD /root/folder/d', ...files.map(() => 'DELE /root/folder/d/f'), 'MLSD /root/folder/d/d'],
      ...['RMD /root/folder/d/d', 'RMD /root/folder/d', 'RMD /root/folder'],
    ]);
  });

  it.each<[string, Buffer[], string]>([
    ['shorter', [Buffer.alloc(SIZE - 1)], 'STORAGE_UNAVAILABLE'],
    ['longer', [Buffer.alloc(SIZE), Buffer.alloc(1)], 'CONTENT_CORRUPT'],
    ['empty', [], 'STORAGE_UNAVAILABLE'],
  ])('cannot pass off a file that is %s than it said', async (_what, pieces, code) => {
    const server = await startHostile({ data: (verb) => (verb === 'RETR' ? pieces : []) });
    expect((await refusalOf(readAll(itemsOf(server))))[0]).toBe(code);
  });

  it.each(['426 cut', '451 no', '550 no'])('that says %s in the end has not sent a file', async (last) => {
    const server = await startHostile({
      reply: (verb) => (verb === 'RETR' ? `150 comes\r\n${last}` : undefined),
      data: () => [Buffer.alloc(SIZE)],
    });
    expect(['STORAGE_UNAVAILABLE', 'PERMISSION_DENIED']).toContain((await refusalOf(readAll(itemsOf(server))))[0]);
  });

  it.each(['MLST', 'EPSV', 'RETR'])('that falls silent at %s holds nobody, and keeps no connection', async (silent) => {
    const server = await startHostile({ reply: (verb) => (verb === silent && server.commands.includes('SILENT') ? '' : undefined) });
    const driver = await openFtp(itemsOf(server));
    await driver.stat(mpath('/file'));
    const before = server.openConnections();
    server.commands.push('SILENT');
    const gone = new AbortController();
    const reading = refusalOf(driver.read(mpath('/file'), undefined, { signal: gone.signal }));
    await waitFor('the command', () => server.commands.at(-1)?.startsWith(silent));
    gone.abort();
    expect((await reading)[0]).toBe('CANCELLED');
    await waitFor('the connections to end', () => server.openConnections() <= before, { withinMs: 1_000 });
  });

  it('whose listing stops is not waited for by what no caller ends', async () => {
    let stops = false;
    const server = await startHostile({ data: () => [fact('one')], stops: () => stops });
    const driver = await openImpatient(server);
    stops = true;
    const lists = Array.from({ length: LANES.names }, () => refusalOf(Array.fromAsync(driver.list(mpath('/')))));
    for (const [code] of await Promise.all(lists)) expect(code).toBe('DEADLINE_EXCEEDED');
    stops = false;
    expect(await Array.fromAsync(driver.list(mpath('/')))).toHaveLength(1);
  });

  it('that falls silent as it gives names keeps no connection once those who asked have gone', async () => {
    const server = await startHostile({ reply: (verb) => (verb === 'RNTO' ? '' : undefined) });
    const driver = await openImpatient(server);
    const renames = Array.from({ length: LANES.names }, (_, index) =>
      refusalOf(driver.rename(mpath('/file'), mpath(`/new ${index}`), { overwrite: true })),
    );
    await waitFor('all connections to be taken', () => server.commands.filter((line) => line.startsWith('RNTO')).length === LANES.names);
    expect((await driver.stat(mpath('/file'))).sizeBytes).toBe(SIZE);
    for (const [code] of await Promise.all(renames)) expect(code).toBe('DEADLINE_EXCEEDED');
  });

  it('cannot make two commands of one name', async () => {
    const server = await startHostile({});
    const driver = await openFtp(itemsOf(server));
    for (const name of ['a\r\nDELE b', 'a\nDELE b', 'a\0b']) {
      const path = `/${name}` as ReturnType<typeof mpath>;
      for (const call of [
        () => driver.stat(path),
        () => driver.write(path, bytesOf('x'), { overwrite: true }),
        () => driver.makeDirectory(path),
        () => driver.rename(mpath('/file'), path, { overwrite: true }),
        () => driver.remove(path, { recursive: true }),
      ]) {
        expect((await refusalOf(call()))[0]).toBe('INVALID_ARGUMENT');
      }
    }
    expect(server.commands.filter((line) => line.startsWith('DELE b'))).toEqual([]);
  });

  it.each([
    ['that is no FTP', 'SSH-2.0-OpenSSH_9.2'],
    ['without end', `230-${'x'.repeat(100)}\r\n`.repeat(2_000)],
    ['to what nobody asked', `331 a\r\n${'200 b\r\n'.repeat(50)}`],
  ])('cannot answer %s', async (_what, answer) => {
    const server = await startHostile({ reply: (verb) => (verb === 'USER' ? answer : undefined) });
    expect((await refusalOf(openFtp(itemsOf(server))))[0]).toBe('STORAGE_UNAVAILABLE');
    await waitFor('its connections to end', () => server.openConnections() === 0);
  });

  it('has no listing by TLS taken for whole that ends with a whole line before its end: it counts once it came twice', async () => {
    const certificate = await makeCertificate('127.0.0.1');
    if (isMissing(certificate)) throw new Error('no openssl');
    const line = (name: string) => Buffer.from(`type=file;size=1;modify=20200101000000; ${name}\r\n`);
    const whole = ['a', 'b', 'c'].map(line);
    const answers = [whole.slice(0, 1)];
    const data = (_verb: string, argument: string) => (argument.endsWith('/folder') ? (answers.shift() ?? whole) : []);
    const server = await startHostile({ certificate, data });
    const driver = await openFtp({ ...itemsOf(server), encryption: 'explicit', tls_insecure_skip_verify: true });
    expect((await Array.fromAsync(driver.list(mpath('/folder')))).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  it('gets no password without TLS where TLS is wanted, nor by what it says before TLS', async () => {
    const certificate = await makeCertificate('127.0.0.1');
    if (isMissing(certificate)) throw new Error('no openssl');
    const wants = { encryption: 'explicit' };
    const without = await startHostile({});
    expect(await refusalOf(openFtp({ ...itemsOf(without), ...wants }))).toEqual(['STORAGE_UNAVAILABLE', expect.stringContaining('no TLS')]);
    const early = await startHostile({
      certificate,
      reply: (verb) => (verb === 'AUTH' ? '234 begin\r\n230 and in plain text' : undefined),
    });
    expect((await refusalOf(openFtp({ ...itemsOf(early), ...wants })))[0]).toBe('STORAGE_UNAVAILABLE');
    for (const server of [without, early]) expect(secretsIn(server)).toEqual([]);
  });

  it.each<[string, (name: string) => string, string, string]>([
    ['upper from lower case', (name) => name.toLowerCase(), 'name', 'no'],
    ['NFC from NFD', (name) => name.normalize('NFC'), 'caf\u00e9', '\u00fc'],
    ['NFD from NFC, and names beyond ASCII are few', (name) => name.normalize('NFD'), 'cafe\u0301', 'u\u0308'],
  ])('that does not tell %s is not mounted', async (_what, fold, name, other) => {
    const bytes = (text: string) => Buffer.from(text).toString('latin1');
    const text = (place: string) => Buffer.from(place, 'latin1').toString();
    const openOn = async (takesFolders: boolean, isFolded: boolean) => {
      const there = new Set<string>(['/root', ...[name, other].map((each) => `/root/${each}`)]);
      const folded = (place: string) => (isFolded ? fold(text(place)) : text(place));
      const server = await startHostile({
        data: () => [...Array.from({ length: 20 }, (_, index) => fact(`${index}`)), fact('file'), fact(bytes(name)), fact(bytes(other))],
        reply(verb, place) {
          if (verb === 'MKD' && takesFolders) there.add(text(place));
          if (verb === 'RMD') there.delete(text(place));
          if (verb === 'MLST')
            return [...there].some((each) => folded(bytes(each)) === folded(place)) ? '250-it is\r\n type=dir; x\r\n250 End' : '550 no';
          return verb === 'MKD' && takesFolders ? '257 made' : undefined;
        },
      });
      return { opened: await codeOf(openFtp(itemsOf(server))), left: [...there].filter((each) => each.includes('.wharf')) };
    };
    for (const takesFolders of [true, false]) {
      expect(await openOn(takesFolders, true)).toEqual({ opened: 'FAILED_PRECONDITION', left: [] });
      expect(await openOn(takesFolders, false)).toEqual({ opened: 'done', left: [] });
    }
  });

  it.each([
    ['utf-8', ['MKD', 'MLST', 'MLST', 'RMD']],
    ['windows-1252', ['MKD', 'MLST', 'RMD']],
    ['shift_jis', ['MKD', 'MLST', 'RMD']],
  ])('is tried with one folder, whatever its character set says: %s', async (encoding, tried) => {
    const server = await startHostile({ reply: (verb) => (verb === 'MKD' ? '257 made' : undefined) });
    await openFtp({ ...itemsOf(server), encoding });
    const verbs = server.commands
      .filter((line) => line.includes('/root/.wharf-tmp-') || line.includes('WHARF'))
      .map((line) => line.split(' ')[0]);
    expect(verbs).toEqual(tried);
  });

  it('that takes only some connections is asked for no more, and serves all the same', async () => {
    let logins = 0;
    const server = await startHostile({
      reply: (verb) => (verb === 'USER' && ++logins > 2 ? '421 too many' : undefined),
      data: (verb) => (verb === 'RETR' ? [Buffer.alloc(SIZE)] : []),
    });
    const driver = await openFtp(itemsOf(server));
    const stats = Array.from({ length: 8 }, () => driver.stat(mpath('/file')));
    expect((await Promise.all(stats)).map(({ sizeBytes }) => sizeBytes)).toEqual(Array.from({ length: 8 }, () => SIZE));
  });

  it.each(['421 too many', '530 Sorry, the maximum number of clients (3) for this user are already connected.'])(
    'that takes three connections keeps one for names while downloads stand still, and is asked for no fourth one again: %s',
    async (refusal) => {
      let logins = 0;
      const server = await startHostile({
        reply: (verb) => (verb === 'USER' && ++logins > 3 ? refusal : undefined),
        data: (verb) => (verb === 'RETR' ? [Buffer.alloc(SIZE)] : []),
      });
      const driver = await openFtp(itemsOf(server));
      const gone = new AbortController();
      let begun = 0;
      const reading = Array.from({ length: 8 }, () =>
        driver.read(mpath('/file'), undefined, { signal: gone.signal }).then(
          () => (begun += 1),
          () => undefined,
        ),
      );
      await waitFor('all that begin', () => begun === 2 && logins > 3);
      const asked = logins;
      for (let look = 0; look < 8; look += 1) await driver.stat(mpath('/file'));
      expect([begun, logins]).toEqual([2, asked]);
      gone.abort();
      await Promise.all(reading);
      expect(await driver.write(mpath('/file'), bytesOf('x'.repeat(SIZE)), { overwrite: true })).toMatchObject({ sizeBytes: SIZE });
    },
  );

  it('that takes one connection serves all by it, and a write that fails is cleaned up', async () => {
    let logins = 0;
    const server = await startHostile({
      reply: (verb) => (verb === 'USER' && ++logins > 1 ? '421 too many' : undefined),
      data: (verb) => (verb === 'RETR' ? [Buffer.alloc(SIZE)] : []),
    });
    const driver = await openFtp(itemsOf(server));
    const failing = async function* () {
      yield Buffer.from('x');
      throw new AppError('QUOTA_EXCEEDED', 'no');
    };
    expect((await refusalOf(driver.write(mpath('/new'), failing(), { overwrite: true })))[0]).toBe('QUOTA_EXCEEDED');
    expect(server.commands.some((line) => line.startsWith('DELE /root/.wharf-tmp-'))).toBe(true);
    expect((await driver.stat(mpath('/file'))).sizeBytes).toBe(SIZE);
  });

  it('that takes one connection is asked by it before a file gets its name, one question at a time', async () => {
    let logins = 0;
    const server = await startHostile({ reply: (verb) => (verb === 'USER' && ++logins > 1 ? '421 too many' : undefined) });
    const driver = await openFtp(itemsOf(server));
    const sizes: unknown[] = [];
    const look = async () => void sizes.push((await driver.stat(mpath('/file'))).sizeBytes);
    const beforePublish = async () => void (await Promise.all([look(), look()]));
    await driver.write(mpath('/file'), bytesOf('x'.repeat(SIZE)), { overwrite: true, beforePublish });
    expect(sizes).toEqual([SIZE, SIZE]);
    // Given back: the next call finds it free.
    await look();
  });

  it('that takes one connection is asked by it though all turns are those of others who wait for it', async () => {
    let logins = 0;
    const server = await startHostile({ reply: (verb) => (verb === 'USER' && ++logins > 1 ? '421 too many' : undefined) });
    const driver = withLimits(await openFtp(itemsOf(server)), LANES, 200) as Required<StorageDriver>;
    const look = (caller: string) => driver.stat(mpath('/file'), { caller });
    let others: Promise<unknown> | undefined;
    const content = async function* () {
      yield Buffer.alloc(SIZE);
      others = Promise.all(['one', 'one', 'another', 'another'].map(look));
    };
    await driver.write(mpath('/file'), content(), { overwrite: true, beforePublish: async () => void (await look('own')) });
    await others;
  });

  it('that takes one connection is asked by it once more where an answer broke off', async () => {
    let logins = 0;
    let isCutOff = false;
    const server = await startHostile({
      reply: (verb) => (verb === 'USER' && ++logins > 1 ? '421 too many' : undefined),
      data: () => (isCutOff ? [Buffer.from('type=file;size=1; cut o')] : []),
    });
    const driver = await openFtp(itemsOf(server));
    const beforePublish = async () => {
      isCutOff = true;
      expect((await refusalOf(Array.fromAsync(driver.list(mpath('/')))))[0]).toBe('STORAGE_UNAVAILABLE');
      await driver.stat(mpath('/file'));
    };
    await driver.write(mpath('/file'), bytesOf('x'.repeat(SIZE)), { overwrite: true, beforePublish });
  });

  const openTaking = async (most: number) => {
    let logins = 0;
    const server = await startHostile({
      reply: (verb) => (verb === 'USER' && ++logins > most ? '421 too many' : undefined),
      data: (verb) => (verb === 'RETR' ? [Buffer.alloc(SIZE)] : []),
    });
    return openFtp(itemsOf(server));
  };

  it.each([
    ['one connection refuses', 1, 'FAILED_PRECONDITION'],
    ['two connections makes', 2, undefined],
  ])('that takes %s what is made of a file that is read meanwhile, and keeps nobody waiting', async (_what, most, refusal) => {
    const driver = await openTaking(most);
    const open = (signal: AbortSignal) => driver.read(mpath('/file'), undefined, { signal });
    const copy = () => whileOpen(undefined, open, (content) => driver.write(mpath('/folder/file'), content, { overwrite: true }));
    // Of the first the server says how many it takes.
    for (let round = 0; round < 2; round += 1) {
      const looks = Promise.all([driver.stat(mpath('/file')), driver.stat(mpath('/file'))]);
      if (refusal) expect((await refusalOf(copy()))[0]).toBe(refusal);
      else expect(await copy()).toMatchObject({ sizeBytes: SIZE });
      await looks;
    }
    expect((await driver.stat(mpath('/file'))).sizeBytes).toBe(SIZE);
  });

  it.each([
    ['one connection refuses', 1, 'FAILED_PRECONDITION'],
    ['two connections makes', 2, undefined],
    ['three connections makes', 3, undefined],
  ])('that takes %s a comparison of two of its files, and keeps nobody waiting', async (_what, most, refusal) => {
    const driver = await openTaking(most);
    const file = { driver, path: mpath('/file') };
    const { signal } = new AbortController();
    for (let round = 0; round < 2; round += 1) {
      const looks = Promise.all(Array.from({ length: 4 }, () => driver.stat(file.path)));
      const same = [1, 2].map(() => haveSameContent(file, file, { signal }).catch((error: unknown) => AppError.from(error).code));
      expect(await Promise.all(same)).toEqual([refusal ?? true, refusal ?? true]);
      await looks;
    }
  });

  it('that takes one connection serves another storage by it, or the same one saved anew, while nobody uses it', async () => {
    const server = itemsOf(await startNarrow());
    const [one, other] = [await openFtp(server), await openFtp(server)];
    for (const driver of [one, other, one, one, other]) expect((await driver.stat(mpath('/file'))).sizeBytes).toBe(SIZE);
  });

  it.each(['cdir', 'pdir'])(
    'that calls its root %s has that there, and what is not there is not found where it was to be removed',
    async (type) => {
      const server = await startHostile({
        reply(verb, place) {
          if (verb === 'MLST') return place === '/root' ? `250-it is\r\n type=${type};modify=20210304050607; /\r\n250 End` : '550 no';
          return verb === 'DELE' ? '550 no' : undefined;
        },
      });
      const driver = withPresentRoot(await openFtp(itemsOf(server)));
      expect(await driver.stat(mpath('/'))).toMatchObject({ isDirectory: true });
      expect(await codeOf(driver.remove?.(mpath('/none'), { recursive: false }) ?? Promise.resolve())).toBe('ENTRY_NOT_FOUND');
      expect(await driver.beginRemoval?.([mpath('/none')])).toMatchObject([{ code: 'ENTRY_NOT_FOUND' }]);
    },
  );

  it('that says nothing to those whom it takes no more is asked by those that it has taken', async () => {
    const driver = await openFtp(itemsOf(await startNarrow()));
    const looks = await Promise.all(['/file', '/file', '/file'].map((path) => driver.stat(mpath(path))));
    expect(looks.map(({ sizeBytes }) => sizeBytes)).toEqual([SIZE, SIZE, SIZE]);
  });

  it('that takes one connection serves others by it between the steps of a removal', async () => {
    let logins = 0;
    const server = await startHostile({
      reply: (verb, place) =>
        verb === 'USER' && ++logins > 1 ? '421 too many' : verb === 'DELE' && place === '/root/folder' ? '550 a folder' : undefined,
      data: (verb) => (verb === 'MLSD' ? [Buffer.from('type=file;size=1; one\r\ntype=file;size=1; two\r\n')] : []),
    });
    const driver = await openFtp(itemsOf(server));
    const sizes: unknown[] = [];
    const beforeStep = async () => void sizes.push((await driver.stat(mpath('/file'))).sizeBytes);
    await driver.remove(mpath('/folder'), { recursive: true, beforeStep });
    expect(sizes).toEqual([SIZE, SIZE]);
    expect(server.commands.filter((line) => /^(?:DELE|RMD) /.test(line)).slice(1)).toEqual([
      'DELE /root/folder/one',
      'DELE /root/folder/two',
      'RMD /root/folder',
    ]);
  });

  it('that calls a link a folder keeps what it leads to when the folder with the link is removed', async () => {
    const folder = (name: string) => Buffer.from(`type=dir;size=0; ${name}\r\n`);
    const content = new Map([
      ['/root/victim', [folder('link'), folder('real')]],
      ['/root/victim/link', [Buffer.from('type=file;size=1; of others\r\n')]],
      ['/root/victim/real', [Buffer.from('type=file;size=1; own\r\n')]],
    ]);
    const server = await startHostile({
      reply: (verb, place) =>
        content.has(place) && verb === 'MLST'
          ? '250-it is\r\n type=dir; x\r\n250 End'
          : verb === 'DELE' && content.has(place) && place !== '/root/victim/link'
            ? '550 a folder'
            : undefined,
      data: (verb, place) => (verb === 'MLSD' ? (content.get(place) ?? []) : []),
    });
    const driver = await openFtp(itemsOf(server));
    const steps: number[] = [];
    await driver.remove(mpath('/victim'), { recursive: true, beforeStep: async (removed) => void steps.push(removed) });
    expect(server.commands.filter((line) => /^(?:DELE|RMD) /.test(line))).toEqual([
      'DELE /root/victim',
      'DELE /root/victim/link',
      'DELE /root/victim/real',
      'DELE /root/victim/real/own',
      'RMD /root/victim/real',
      'RMD /root/victim',
    ]);
    expect(steps).toEqual([0, 1, 1, 2]);
  });

  it('that ends a session in the place of an answer says nothing of what was asked', async () => {
    const folder = (name: string) => Buffer.from(`type=dir;size=0; ${name}\r\n`);
    const server = await startHostile({
      reply: (verb, place) =>
        verb === 'MLST' && (place === '/root/victim' || place === '/root/empty')
          ? '250-it is\r\n type=dir; x\r\n250 End'
          : verb === 'DELE' && (place === '/root/victim' || place === '/root/empty')
            ? '550 a folder'
            : ['/root/victim/link', '/root/there', '/root/empty'].includes(place)
              ? '421 no transfer for 600 s'
              : undefined,
      data: (verb, place) =>
        verb !== 'MLSD' ? [] : place === '/root/victim' ? [folder('link')] : [Buffer.from('type=file;size=1; of others\r\n')],
    });
    const driver = await openFtp(itemsOf(server));
    expect(await codeOf(driver.stat(mpath('/there')))).toBe('STORAGE_UNAVAILABLE');
    expect(await codeOf(driver.remove(mpath('/there'), { recursive: false }))).toBe('STORAGE_UNAVAILABLE');
    expect(await codeOf(driver.remove(mpath('/victim'), { recursive: true }))).toBe('STORAGE_UNAVAILABLE');
    expect(await codeOf(driver.remove(mpath('/empty'), { recursive: false }))).toBe('STORAGE_UNAVAILABLE');
    expect(server.commands.filter((line) => line.includes('of others'))).toEqual([]);
  });

  it.each(['less', 'more'])('that keeps %s than it was sent has not taken a file', async (what) => {
    const size = what === 'less' ? 3 : 5;
    const server = await startHostile({
      reply: (verb, place) =>
        !place.includes('.wharf-tmp-')
          ? undefined
          : verb === 'MLST'
            ? `250-it is\r\n type=file;size=${size};modify=20210304050607; ${place}\r\n250 End`
            : verb === 'SIZE'
              ? `213 ${size}`
              : undefined,
    });
    const driver = await openFtp(itemsOf(server));
    expect((await refusalOf(driver.write(mpath('/new'), bytesOf('four'), { overwrite: true, sizeBytes: 4 })))[0]).toBe(
      'STORAGE_UNAVAILABLE',
    );
    expect(server.commands.filter((line) => line.startsWith('RNTO'))).toEqual([]);
    expect(server.commands.some((line) => line.startsWith('DELE /root/.wharf-tmp-'))).toBe(true);
  });

  it.each<[string, (renames: readonly string[]) => boolean]>([
    ['ends the connection instead of saying that the old file stepped aside', (renames) => renames.length === 1],
    ['ends the connection instead of giving the new file its name', (renames) => renames.length === 2],
  ])('that replaces nothing and %s has the old file by its name', async (_what, cutsAfter) => {
    const files = new Map([
      ['/root/old', 'old content'],
      ['/root/file', 'new content'],
    ]);
    const renames: string[] = [];
    let from = '';
    const server = await startHostile({
      reply: keeping(files, (place) => {
        from = place;
      }),
      cuts(verb, place) {
        if (verb !== 'RNTO' || files.has(place)) return false;
        renames.push(place);
        const isCut = cutsAfter(renames);
        // The first one is done all the same: nobody has the name then.
        if (isCut && renames.length === 1) {
          files.set(place, files.get(from) ?? '');
          files.delete(from);
        }
        return isCut;
      },
    });
    const driver = await openFtp(itemsOf(server));
    const replacing = driver.rename(mpath('/file'), mpath('/old'), { overwrite: true });
    expect((await refusalOf(replacing))[0]).toBe('STORAGE_UNAVAILABLE');
    expect([...files].sort()).toEqual([
      ['/root/file', 'new content'],
      ['/root/old', 'old content'],
    ]);
  });

  it('that moves a file aside late, and takes one session, has what is there by then by its name before another is stored', async () => {
    const { files, driver, moveAside } = await openMovingLate(startNarrow);
    await codeOf(driver.rename(mpath('/file'), mpath('/old'), { overwrite: true }));
    moveAside('newer content');
    expect(await codeOf(driver.write(mpath('/old'), bytesOf('n'), { overwrite: false }))).toBe('ENTRY_EXISTS');
    expect(files.get('/root/old')).toBe('newer content');
  });

  it.each<[string, (driver: Awaited<ReturnType<typeof openFtp>>) => Promise<unknown>, string]>([
    ['is looked at', (driver) => driver.stat(mpath('/old')), 'done'],
    ['is stored where nothing is', (driver) => driver.write(mpath('/old'), bytesOf('n'), { overwrite: false }), 'ENTRY_EXISTS'],
    ['is copied', (driver) => driver.read(mpath('/old')).then((content) => content[Symbol.asyncIterator]().return?.()), 'done'],
    ['is moved', (driver) => driver.rename(mpath('/old'), mpath('/other'), { overwrite: false }), 'done'],
    ['gets a folder', (driver) => driver.makeDirectory(mpath('/old')), 'ENTRY_EXISTS'],
    ['is removed', (driver) => driver.remove(mpath('/old'), { recursive: false }), 'done'],
  ])('that moves a file aside late has what is there by then by its name before it %s', async (what, call, outcome) => {
    const { files, driver, moveAside, asidePlace } = await openMovingLate(startHostile);
    const replacing = driver.rename(mpath('/file'), mpath('/old'), { overwrite: true });
    expect((await refusalOf(replacing))[0]).toBe('STORAGE_UNAVAILABLE');
    moveAside('newer content');
    expect(await codeOf(call(driver))).toBe(outcome);
    expect([files.get(asidePlace()), files.get('/root/old') ?? files.get('/root/other')]).toEqual([
      undefined,
      what === 'is removed' ? undefined : 'newer content',
    ]);
  });

  it.each([
    ['the first time', 1],
    ['once the old file has stepped aside', 2],
  ])('that says that it gave a file its name and did not, %s, has stored nothing, and has the old file', async (_when, lie) => {
    const files = new Map([['/root/file', 'old']]);
    let asked = 0;
    const keep = keeping(
      files,
      () => undefined,
      (to) => to === '/root/file' && ++asked === lie,
    );
    const server = await startHostile({ reply: keep });
    const driver = await openFtp(itemsOf(server));
    const writing = driver.write(mpath('/file'), bytesOf('n'), { overwrite: true, sizeBytes: 1 });
    expect((await refusalOf(writing))[0]).toBe('STORAGE_UNAVAILABLE');
    await waitFor('what is left to go', () => files.size === 1);
    expect([...files]).toEqual([['/root/file', 'old']]);
  });

  it.each([
    ['one connection', 1, 1],
    ['three connections', 3, 1],
    ['any number of connections', Number.POSITIVE_INFINITY, 4],
  ])('that replaces nothing and takes %s: what stepped aside goes, and nobody waits for it', async (_what, most, count) => {
    const names = Array.from({ length: count }, (_, index) => index);
    const files = new Map(
      names.flatMap((index): [string, string][] => [
        [`/root/from-${index}`, 'new'],
        [`/root/to-${index}`, 'old'],
      ]),
    );
    let logins = 0;
    const keep = keeping(files);
    const server = await startHostile({
      reply: (verb, place) => (verb === 'USER' && ++logins > most ? '421 too many' : keep(verb, place)),
    });
    const driver = await openFtp(itemsOf(server));
    await Promise.all(names.map((index) => driver.rename(mpath(`/from-${index}`), mpath(`/to-${index}`), { overwrite: true })));
    expect([...files].sort()).toEqual(names.map((index) => [`/root/to-${index}`, 'new']));
    expect(await driver.stat(mpath('/to-0'))).toMatchObject({ name: 'to-0' });
  });
});
