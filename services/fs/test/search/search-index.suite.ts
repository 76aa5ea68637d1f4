import { type EntryName, isWithin } from '@wharf/paths';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseKeywords } from '../../src/domain/search/keywords.ts';
import type { SearchHit, SearchIndex, SearchQuery, Territory } from '../../src/domain/search/search-index.ts';
import { NO_DEPTH_LIMIT } from '../../src/domain/search/search-index.ts';
import { actor } from '../../src/domain/testing/memory-tree.ts';
import { ruleRecord } from '../../src/domain/testing/records.ts';
import { file, folder, path, plainScan } from './plain-scan.ts';
import { createNames, randomOf } from './random-names.ts';

const SEED = 20_261_121;
const GENERATION = 1;

/** What every engine of the search index must hold. @param open an empty index; whoever opens it closes it. */
export function describeSearchIndex(name: string, open: () => Promise<SearchIndex>): void {
  describe(`the search index ${name}`, () => {
    let index: SearchIndex;
    beforeAll(async () => {
      index = await open();
    });
    afterAll(() => index?.close());
    beforeEach(async () => {
      await index.clear();
      await index.openFolder(path('/'), NO_DEPTH_LIMIT, GENERATION);
    });

    const query = (rest: Partial<SearchQuery> = {}): Omit<SearchQuery, 'words'> => ({
      scope: 'all',
      parent: path('/'),
      page: 1,
      perPage: 100,
      viewer: { actor: actor(), password: '', rules: [] },
      ...rest,
    });
    const search = async (keywords: string, rest: Partial<SearchQuery> = {}) =>
      index.search({ ...query(rest), words: parseKeywords(keywords) ?? [] });
    const found = async (keywords: string, rest: Partial<SearchQuery> = {}) =>
      (await search(keywords, rest)).hits.map((hit) => (hit.parent === '/' ? `/${hit.name}` : `${hit.parent}/${hit.name}`));

    it('finds names that contain every word, whatever the case of ASCII letters', async () => {
      await index.put(path('/'), [file('Alpha Report.txt', 7), folder('alphadir'), file('beta.txt')], GENERATION);
      await index.put(path('/alphadir'), [file('inner ALPHA'), file('ÄLPHA')], GENERATION);
      expect(await found('aLPHa')).toEqual(['/Alpha Report.txt', '/alphadir', '/alphadir/inner ALPHA']);
      expect(await found('report\talpha')).toEqual(['/Alpha Report.txt']);
      expect(await found('alpha beta')).toEqual([]);
      expect(await found('älpha')).toEqual([]);
      expect((await search('report')).hits).toEqual([{ parent: '/', name: 'Alpha Report.txt', isDirectory: false, sizeBytes: 7 }]);
    });

    it('finds words of one and two characters, and everything without a word', async () => {
      await index.put(path('/'), [file('ab'), file('b'), file('xaBy'), file('日本語')], GENERATION);
      expect(await found('ab')).toEqual(['/ab', '/xaBy']);
      expect(await found('B')).toEqual(['/ab', '/b', '/xaBy']);
      expect(await found('本')).toEqual(['/日本語']);
      expect(await found('  ')).toEqual(['/ab', '/b', '/xaBy', '/日本語']);
    });

    it('takes the signs of query languages as plain characters', async () => {
      const names = ['100%', 'a_b', 'a"b"c', "it's", 'x*y', '^start$', '(a+)+', 'a\\b'.replace('\\', '|'), 'NEAR AND NOT', '-minus', 'a:b'];
      await index.put(
        path('/'),
        names.map((each) => file(each)),
        GENERATION,
      );
      for (const each of names) expect(await found(each)).toEqual([`/${each}`]);
      for (const each of ['%', '_', '"b"', "'", '*', '^s', '$', '(a', 'a:'])
        expect((await search(each)).total).toBe(names.filter((one) => one.includes(each)).length);
      for (const none of ['%%', 'a%b', 'a.b', '.*', 'a*', 'a_%', 'NEAR(a b)', 'name:a']) expect(await found(none)).toEqual([]);
    });

    it('looks at folders, at files, or at both, below one folder by whole segments', async () => {
      await index.put(path('/'), [folder('team'), folder('team-private'), folder('team0')], GENERATION);
      for (const each of ['team', 'team-private', 'team0'])
        await index.put(path(`/${each}`), [file(`note ${each}`), folder('note')], GENERATION);
      await index.put(path('/team/note'), [file('deep note')], GENERATION);
      expect(await found('note', { parent: path('/team') })).toEqual(['/team/note/deep note', '/team/note', '/team/note team']);
      expect(await found('note', { parent: path('/team'), scope: 'folders' })).toEqual(['/team/note']);
      expect(await found('note', { parent: path('/team'), scope: 'files' })).toEqual(['/team/note/deep note', '/team/note team']);
      expect(await found('team', { parent: path('/team') })).toEqual(['/team/note team']);
      const viewer = { actor: actor({ basePath: path('/team') }), password: '', rules: [] };
      expect(await search('note', { viewer })).toMatchObject({ total: 3 });
    });

    it('pages by name, and counts only what the viewer may see', async () => {
      const names = Array.from({ length: 30 }, (_, number) => `file ${String(number).padStart(2, '0')}`);
      await index.put(
        path('/'),
        names.map((each) => file(each)),
        GENERATION,
      );
      expect(await search('file', { page: 2, perPage: 12 })).toMatchObject({
        total: 30,
        hits: names.slice(12, 24).map((each) => ({ name: each })),
      });
      expect(await search('file', { page: 3, perPage: 12 })).toMatchObject({
        total: 30,
        hits: names.slice(24).map((each) => ({ name: each })),
      });
      expect(await search('file', { page: 9, perPage: 12 })).toEqual({ total: 30, hits: [] });
      const viewer = { actor: actor({ permission: 0 }), password: '', rules: [ruleRecord({ hide: '[02468]$' })] };
      expect(await search('file', { page: 2, perPage: 10, viewer })).toMatchObject({
        total: 15,
        hits: [1, 3, 5, 7, 9].map((n) => ({ name: `file 2${n}` })),
      });
    });

    it('shows nothing of hidden folders, foreign read lists and locked folders, however deep', async () => {
      await index.put(path('/'), [folder('open'), folder('dark'), folder('locked'), folder('listed')], GENERATION);
      for (const each of ['open', 'dark', 'locked', 'listed']) {
        await index.put(path(`/${each}`), [folder('sub')], GENERATION);
        await index.put(path(`/${each}/sub`), [file('secret')], GENERATION);
      }
      const rules = [
        ruleRecord({ path: '/', hide: '^dark$' }),
        ruleRecord({ path: '/locked', password: 'pw', p_sub: true }),
        ruleRecord({ path: '/listed', read_users: [9], read_users_sub: true }),
      ];
      const as = (id: number, password: string, permission = 0) => ({ viewer: { actor: actor({ id, permission }), password, rules } });
      expect(await found('secret', as(7, ''))).toEqual(['/open/sub/secret']);
      expect(await found('secret', as(7, 'pw'))).toEqual(['/locked/sub/secret', '/open/sub/secret']);
      expect(await found('secret', as(9, 'wrong'))).toEqual(['/listed/sub/secret', '/open/sub/secret']);
      expect(await found('dark', as(7, ''))).toEqual([]);
      expect((await search('', as(7, ''))).total).toBe(4);
      expect((await search('secret', { viewer: { actor: actor({ role: 2, permission: 0 }), password: '', rules } })).total).toBe(4);
    });

    it('replaces what is put again, and removes names with all below them', async () => {
      await index.put(path('/'), [folder('a'), file('b', 1)], GENERATION);
      await index.put(path('/a'), [folder('c')], GENERATION);
      await index.put(path('/a/c'), [file('deep')], GENERATION);
      await index.put(path('/'), [file('b', 5)], GENERATION);
      expect((await search('b')).hits).toEqual([{ parent: '/', name: 'b', isDirectory: false, sizeBytes: 5 }]);
      expect(await index.count()).toBe(4);
      await index.put(path('/a'), [file('c', 3)], GENERATION);
      expect(await found('deep')).toEqual([]);
      expect(await index.findFolder(path('/a/c'))).toBeUndefined();
      await index.remove(path('/'), [path('a'), path('nothing')] as never);
      expect(await found('')).toEqual(['/b']);
      expect(await index.count()).toBe(1);
      await index.put(path('/not/indexed'), [file('lost')], GENERATION);
      expect(await found('lost')).toEqual([]);
    });

    it('moves a folder with everything below it', async () => {
      await index.put(path('/'), [folder('from'), folder('from2'), folder('to')], GENERATION);
      await index.put(path('/from'), [folder('sub'), file('one')], GENERATION);
      await index.put(path('/from/sub'), [file('two')], GENERATION);
      await index.put(path('/from2'), [file('other')], GENERATION);
      expect(await index.move(path('/from'), path('/to/Neu😀'))).toBe(true);
      expect(await found('')).toEqual([
        '/to/Neu😀',
        '/from2',
        '/to/Neu😀/one',
        '/from2/other',
        '/to/Neu😀/sub',
        '/to',
        '/to/Neu😀/sub/two',
      ]);
      expect(await found('neu')).toEqual(['/to/Neu😀']);
      expect(await found('from')).toEqual(['/from2']);
      expect(await index.findFolder(path('/from/sub'))).toBeUndefined();
      expect([...(await index.children(path('/to/Neu😀')))].sort()).toEqual([
        ['one', false],
        ['sub', true],
      ]);
      expect([...(await index.children(path('/to/Neu😀'), 'one' as EntryName))]).toEqual([['sub', true]]);
      expect(await index.children(path('/to/Neu😀'), 'sub' as EntryName)).toEqual(new Map());
      expect(await index.move(path('/from'), path('/elsewhere'))).toBe(false);
      expect(await index.move(path('/from2'), path('/to/Neu😀'))).toBe(false);
      expect(await index.move(path('/from2'), path('/unknown/x'))).toBe(false);
      expect(await index.move(path('/to'), path('/to/Neu😀/to'))).toBe(false);
    });

    it('moves a folder up with the depths of its place, and none of which it does not have all that is indexed there', async () => {
      await index.openFolder(path('/'), 3, GENERATION);
      await index.put(path('/'), [folder('a'), folder('x')], GENERATION);
      await index.put(path('/a'), [folder('b')], GENERATION);
      await index.put(path('/a/b'), [folder('c')], GENERATION);
      await index.put(path('/x'), [folder('y'), folder('z')], GENERATION);
      await index.put(path('/x/y'), [file('one')], GENERATION);
      const depthOf = async (at: string) => (await index.findFolder(path(at)))?.depth;
      expect(await index.move(path('/a/b'), path('/b'))).toBe(false);
      expect(await index.move(path('/a/b/c'), path('/c'))).toBe(false);
      expect([await depthOf('/a/b'), await depthOf('/a/b/c')]).toEqual([1, 0]);
      expect(await index.move(path('/x/y'), path('/y'))).toBe(true);
      expect([await depthOf('/y'), await found('one')]).toEqual([2, ['/y/one']]);
      await index.put(path('/y'), [folder('inner')], GENERATION);
      expect(await index.move(path('/a'), path('/x/a'))).toBe(true);
      expect([await depthOf('/x/a'), await depthOf('/x/a/b/c')]).toEqual([2, 0]);
      await index.openFolder(path('/'), NO_DEPTH_LIMIT, GENERATION);
      expect(await index.move(path('/y'), path('/top'))).toBe(true);
      expect([await depthOf('/top'), await depthOf('/top/inner')]).toEqual([NO_DEPTH_LIMIT, NO_DEPTH_LIMIT]);
    });

    it('moves more folders than are read at a time', async () => {
      const names = Array.from({ length: 1_100 }, (_, number) => `inner ${number}`);
      await index.put(path('/'), [folder('from'), folder('to')], GENERATION);
      await index.put(path('/from'), names.map(folder), GENERATION);
      expect(await index.move(path('/from'), path('/to/from'))).toBe(true);
      for (const name of [names[0], names[500], names.at(-1)]) {
        expect(await index.findFolder(path(`/from/${name}`))).toBeUndefined();
        expect(await index.findFolder(path(`/to/from/${name}`))).toBeDefined();
      }
    });

    it('keeps paths of the greatest length apart', async () => {
      const names = Array.from({ length: 15 }, (_, number) => `${number}-`.padEnd(255, 'x'));
      let parent = path('/');
      for (const name of names) {
        await index.put(parent, [folder(name), folder(`${name.slice(0, -1)}y`)], GENERATION);
        parent = path(parent === '/' ? `/${name}` : `${parent}/${name}`);
      }
      await index.put(parent, [file('deepest')], GENERATION);
      expect((await search('deepest')).hits).toMatchObject([{ parent, name: 'deepest' }]);
      expect(await index.findFolder(path(`${parent.slice(0, -1)}y`))).toBeDefined();
      await index.remove(path('/'), [names[0], 'nothing'] as never);
      expect(await index.count()).toBe(1);
    });

    it('queues new folders of its generation, down to their depth', async () => {
      await index.settle([path('/')]);
      await index.openFolder(path('/'), 2, GENERATION);
      await index.put(path('/'), [folder('a'), file('f')], GENERATION);
      await index.put(path('/a'), [folder('b')], GENERATION);
      await index.put(path('/a/b'), [folder('c')], GENERATION);
      const queued = async (generation = GENERATION) =>
        (await index.queued(generation, 10)).toSorted((x, y) => x.path.localeCompare(y.path));
      expect(await queued()).toEqual([
        { path: '/', depth: 2 },
        { path: '/a', depth: 1 },
      ]);
      expect(await queued(GENERATION + 1)).toEqual([]);
      await index.settle([path('/')]);
      await index.put(path('/'), [folder('a')], GENERATION + 1);
      expect(await queued()).toEqual([{ path: '/a', depth: 1 }]);
      expect(await index.queued(GENERATION, 0 + 1)).toHaveLength(1);
      await index.settleAll({ place: path('/'), without: [] });
      expect(await queued()).toEqual([]);
      await index.requeue(path('/'), 5, false);
      expect(await queued(5)).toEqual([{ path: '/', depth: 2 }]);
      await index.requeue(path('/'), 5, true);
      expect((await queued(5)).map((each) => each.path)).toEqual(['/', '/a']);
      expect(await index.findFolder(path('/a/b'))).toEqual({ path: '/a/b', depth: 0 });
    });

    it('tells what is queued without some storages, but with those that are mounted below them', async () => {
      await index.put(path('/'), [folder('a'), folder('ab'), folder('c')], GENERATION);
      await index.put(path('/a'), [folder('b'), folder('x')], GENERATION);
      await index.put(path('/a/b'), [folder('y')], GENERATION);
      const queued = async (...except: Territory[]) => (await index.queued(GENERATION, 10, except)).map((each) => each.path).toSorted();
      const all = ['/', '/a', '/a/b', '/a/b/y', '/a/x', '/ab', '/c'];
      expect(await queued()).toEqual(all);
      expect(await queued({ place: path('/a'), without: [] })).toEqual(['/', '/ab', '/c']);
      expect(await queued({ place: path('/a'), without: [path('/a/b')] })).toEqual(['/', '/a/b', '/a/b/y', '/ab', '/c']);
      expect(await queued({ place: path('/'), without: [path('/a/b'), path('/c')] })).toEqual(['/a/b', '/a/b/y', '/c']);
      expect(await queued({ place: path('/a/b'), without: [] }, { place: path('/c'), without: [] })).toEqual(['/', '/a', '/a/x', '/ab']);
      expect(await queued({ place: path('/'), without: [] })).toEqual([]);
    });

    it('knows thousands of storages below one, and takes only its own folders off the queue', async () => {
      await index.put(path('/'), [folder('a'), folder('z')], GENERATION);
      await index.put(path('/a'), [folder('b'), folder('c')], GENERATION);
      const without = [path('/a/b'), ...Array.from({ length: 2_000 }, (_, each) => path(`/a/b/${each}`))];
      const queued = async (...except: Territory[]) => (await index.queued(GENERATION, 10, except)).map((each) => each.path).toSorted();
      expect(await queued({ place: path('/a'), without }, ...without.map((place) => ({ place, without: [] })))).toEqual(['/', '/z']);
      await index.settleAll({ place: path('/a'), without });
      expect(await queued()).toEqual(['/', '/a/b', '/z']);
      await index.settleAll({ place: path('/'), without: [] });
      expect(await queued()).toEqual([]);
    });

    it('keeps one state, which changes only from what it is', async () => {
      const state = await index.readState();
      const next = { ...state, generation: 7, error: 'why', isDone: true, lastDoneAt: 12, mounts: { '/a.b/$c': 'x' } };
      expect(await index.replaceState(next)).toBe(true);
      expect(await index.replaceState(next)).toBe(false);
      expect(await index.readState()).toEqual({ ...next, revision: state.revision + 1 });
      const job = { kind: 'update' as const, paths: [path('/x')], depth: 3, isPrepared: false };
      expect(await index.replaceState({ ...(await index.readState()), job, lastDoneAt: undefined })).toBe(true);
      expect(await index.readState()).toMatchObject({ job, lastDoneAt: undefined, generation: 7 });
      await index.clear();
      expect(await index.readState()).toMatchObject({ generation: 7 });
    });

    it('finds what came before it was made fast and what came after, and again from the start', async () => {
      for (const round of [1, 2]) {
        await index.put(path('/'), [file(`before ${round}`), file('removed')], GENERATION);
        expect(await found('before')).toEqual([`/before ${round}`]);
        await index.makeFast();
        await index.makeFast();
        await index.put(path('/'), [file(`after ${round}`)], GENERATION);
        await index.remove(path('/'), [path('removed')] as never);
        for (const each of ['before', 'after']) expect(await found(each)).toEqual([`/${each} ${round}`]);
        expect(await found('removed')).toEqual([]);
        await index.clear();
        expect(await found('')).toEqual([]);
        await index.openFolder(path('/'), NO_DEPTH_LIMIT, GENERATION);
      }
    });

    it('a search whose caller goes away ends', async () => {
      const abort = new AbortController();
      abort.abort();
      await expect(index.search({ ...query(), words: ['a'] }, abort.signal)).rejects.toMatchObject({ code: 'CANCELLED' });
    });

    it('answers what a plain scan answers, for names and keywords of every kind', async () => {
      const random = randomOf(SEED);
      const names = createNames(random);
      const entries: SearchHit[] = [];
      const folders = [path('/')];
      for (const parent of folders) {
        const inner = new Map(Array.from({ length: 25 }, () => [names.name(), random() < 0.25]));
        const put = [...inner].map(([name, isDirectory]) => ({ ...file(name, Math.floor(random() * 1e12)), isDirectory }));
        await index.put(parent, put, GENERATION);
        entries.push(...put.map((entry) => ({ ...entry, parent })));
        for (const { name, isDirectory } of put)
          if (isDirectory && folders.length < 30) folders.push(path(parent === '/' ? `/${name}` : `${parent}/${name}`));
      }
      const all = entries.map((entry) => entry.name);
      const rules = [
        ruleRecord({ path: '/', hide: 'a\nx{5}', h_sub: true }),
        ruleRecord({ path: folders[5] ?? '/', password: 'pw', p_sub: true }),
        ruleRecord({ path: folders[9] ?? '/', read_users: [7], read_users_sub: random() < 0.5 }),
      ];
      for (let run = 0; run < 300; run += 1) {
        if (run === 100) await index.makeFast();
        const keywords = names.keywords(all);
        const asked = query({
          scope: names.pick(['all', 'folders', 'files'] as const),
          parent: names.pick(folders),
          page: 1 + Math.floor(random() * 3),
          perPage: names.pick([1, 5, 50]),
          viewer: {
            actor: actor({
              id: names.pick([7, 8]),
              permission: names.pick([0, 1, 3]),
              basePath: random() < 0.7 ? path('/') : names.pick(folders),
            }),
            password: names.pick(['', 'pw']),
            rules: random() < 0.5 ? rules : [],
          },
        });
        const words = parseKeywords(keywords);
        const answer = words ? await index.search({ ...asked, words }) : { hits: [], total: 0 };
        expect([run, keywords, answer]).toEqual([run, keywords, plainScan(entries, keywords, asked)]);
      }
      const doomed = folders.filter((each) => each !== '/' && folders.indexOf(each) % 7 === 3);
      for (const each of doomed)
        await index.remove(path(each.slice(0, each.lastIndexOf('/')) || '/'), [each.slice(each.lastIndexOf('/') + 1)] as never);
      const left = entries.filter(
        ({ parent, name }) => !doomed.some((each) => isWithin(each, path(parent === '/' ? `/${name}` : `${parent}/${name}`))),
      );
      expect(await index.count()).toBe(left.length);
      expect(await index.search({ ...query({ perPage: 5_000 }), words: [] })).toEqual(plainScan(left, '', query({ perPage: 5_000 })));
    });
  });
}
