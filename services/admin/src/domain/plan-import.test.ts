import { countTurns } from '@wharf/harness';
import { createPace } from '@wharf/pace';
import { describe, expect, it, vi } from 'vitest';
import { readDocument } from './configuration-document.ts';
import type { DriverForm, FormItem } from './driver-form.ts';
import { type ConfigurationState, documentPieces, type ExportedUser, secretsOf } from './export-document.ts';
import { planImport } from './plan-import.ts';
import type { Rule } from './rule.ts';
import { toolItems } from './setting-items.ts';
import { parseStorageFields, type Storage } from './storage.ts';
import { ruleFields } from './testing/fields.ts';

const NO_STORAGE = parseStorageFields({
  ...{ mount_path: '/s3', driver: 'S3', order: 1, cache_expiration: 30, custom_cache_policies: '', remark: '', addition: '{}' },
  ...{ disabled: false, disable_index: false, enable_sign: true, order_by: 'name', order_direction: 'asc', extract_folder: 'front' },
  ...{ web_proxy: false, webdav_policy: 'native_proxy', proxy_range: false, down_proxy_url: '', disable_proxy_sign: false },
});
const NO_RULE = ruleFields({ path: '/s3/room', p_sub: true });
const person = (id: number, username: string, role = 0): ExportedUser => ({
  ...{ id, username, role, base_path: '/', disabled: false, permission: 3, sso_id: '', allow_ldap: true },
});
const SECRET_ADDITION = '{"bucket":"b","secret_access_key":"canary"}';
const storage = (rest: Partial<Storage> = {}): Storage => ({
  ...NO_STORAGE,
  ...{ id: 1, status: 'work', modified: new Date(0), version: '', addition: SECRET_ADDITION },
  ...rest,
});
const rule = (rest: Partial<Rule> = {}): Rule => ({ ...NO_RULE, id: 1, password: 'canary', read_users: [3], ...rest });

const form = (items: Readonly<Record<string, Partial<FormItem>>>): DriverForm => ({
  items: Object.entries(items).map(([name, rest]) => ({ name, isRequired: false, standard: '', options: [], ...rest })),
  secretItems: new Set(['secret_access_key']),
});

const state = (rest: Partial<ConfigurationState> = {}) => ({
  settings: toolItems({ site_title: 'Quay', rpcdl_secret: 'canary' }),
  users: [person(1, 'admin', 2), person(2, 'guest', 1), person(3, 'ann')],
  storages: [storage()],
  rules: [rule()],
  secretItemsOf: () => new Set(['secret_access_key']),
  drivers: new Map([
    [
      'S3',
      form({
        root_folder_path: {},
        endpoint: {},
        tls_insecure_skip_verify: { standard: 'false' },
        bucket: {},
        secret_access_key: {},
        list_object_version: { options: ['v1', 'v2'] },
      }),
    ],
    ['Local', form({ root_folder_path: { isRequired: true } })],
  ]),
  unknowablePassword: () => 'unknowable',
  ...rest,
});
const empty = () => state({ settings: [], users: [person(1, 'admin', 2), person(2, 'guest', 1)], storages: [], rules: [] });
const fileOf = async (from: ConfigurationState) =>
  (await Array.fromAsync(documentPieces(from, new Date(0), undefined, createPace()))).join('');
const backup = (rest: Record<string, unknown>) =>
  readDocument(JSON.stringify({ encrypted: '', settings: [], users: [], storages: [], metas: [], ...rest }));
const outcomes = (plan: Awaited<ReturnType<typeof planImport>>) =>
  [...plan.settled, ...[...plan.settings, ...plan.users, ...plan.storages, ...plan.rules].map(({ record }) => record)]
    .filter(({ kind, outcome }) => kind !== 'setting' || outcome !== 'unchanged')
    .map(({ kind, name, outcome, note }) => [kind, name, outcome, note]);

describe('an exported configuration', () => {
  it('has no secret in clear, and says so', async () => {
    const file = await fileOf(state());
    expect(file).not.toContain('canary');
    expect(JSON.parse(file)).toMatchObject({ format: 'wharf-configuration', version: 1, secrets: 'omitted', note: expect.any(String) });
  });

  it('names what of a storage its driver does not take, and what it misses', async () => {
    const backup = {
      storages: [
        { mount_path: '/s3', driver: 'S3', addition: '{"bucket":"b","list_object_version":"v3","cookie":"c","sort":"","deep":false}' },
        { mount_path: '/local', driver: 'Local', addition: '{}' },
        { mount_path: '/cloud', driver: 'Some Cloud', addition: '{}' },
      ],
    };
    const notes = [
      'left out, as the driver has no such items: cookie; not to be chosen here: list_object_version v3',
      'the driver needs root_folder_path',
    ];
    expect(outcomes(await planImport(await readDocument(JSON.stringify(backup)), undefined, empty()))).toEqual([
      ['storage', '/cloud', 'skipped', 'no driver named: Some Cloud'],
      ['storage', '/s3', 'created', notes[0]],
      ['storage', '/local', 'created', notes[1]],
    ]);
  });

  it('is not imported with cache policies that take too long, and says which line', async () => {
    const custom_cache_policies = `/${'[\\pL]'.repeat(193)}:5\n`.repeat(67);
    const file = await backup({ storages: [{ mount_path: '/local', driver: 'Local', addition: '{}', custom_cache_policies }] });
    const note = 'custom_cache_policies, line 5: the patterns may have 4000 characters together';
    expect(outcomes(await planImport(file, undefined, empty()))).toEqual([['storage', '/local', 'failed', note]]);
  });

  it('hides all of a storage whose driver nobody knows', async () => {
    expect(await fileOf(state({ secretItemsOf: () => undefined }))).not.toContain('"bucket":"b"');
  });

  it('changes nothing where it comes from', async () => {
    expect(outcomes(await planImport(await readDocument(await fileOf(state())), undefined, state()))).toEqual([
      ['user', 'admin', 'skipped', 'the administrator here stays unchanged'],
      ['user', 'guest', 'unchanged', ''],
      ['user', 'ann', 'unchanged', ''],
      ['storage', '/s3', 'unchanged', ''],
      ['rule', '/s3/room', 'unchanged', ''],
    ]);
  });

  it('makes all of it elsewhere, closed where a secret is missing, and says what is', async () => {
    const plan = await planImport(await readDocument(await fileOf(state())), undefined, empty());
    expect(outcomes(plan)).toEqual([
      ['user', 'admin', 'skipped', 'the administrator here stays unchanged'],
      ['user', 'guest', 'unchanged', ''],
      ['setting', 'site_title', 'updated', ''],
      ['user', 'ann', 'created', 'has no password that anybody knows: set one; gets see_hides, access_without_password'],
      ['storage', '/s3', 'created', 'without its secrets: secret_access_key'],
      ['rule', '/s3/room', 'created', 'its password is not in the file and nobody knows the one it has now: set one'],
    ]);
    expect(plan.storages[0]?.fields.addition).toBe('{"bucket":"b"}');
    expect(plan.rules[0]?.fields).toMatchObject({ password: 'unknowable', readers: ['ann'] });
  });

  it('brings the secrets with it that were encrypted', async () => {
    const secrets = await secretsOf(state(), createPace());
    const plan = await planImport(await readDocument(await fileOf(state())), secrets, empty());
    expect(plan.storages[0]?.fields.addition).toBe(SECRET_ADDITION);
    expect(plan.rules[0]?.fields.password).toBe('canary');
    expect(plan.settings.map(({ item }) => [item.key, item.value])).toContainEqual(['rpcdl_secret', 'canary']);
  });

  it('keeps the secrets that are there when it changes a storage or a rule', async () => {
    const changed = state({ storages: [storage({ remark: 'new' })], rules: [rule({ hide: 'x' })] });
    const plan = await planImport(await readDocument(await fileOf(changed)), undefined, state());
    expect(JSON.parse(plan.storages[0]?.fields.addition ?? '')).toEqual(JSON.parse(SECRET_ADDITION));
    expect(plan.rules[0]?.fields).toMatchObject({ password: 'canary', hide: 'x' });
    expect(plan.rules[0]?.record.note).toBe('');
  });

  it('keeps them where what is there says, too, what the driver takes where nothing is given', async () => {
    const file = await fileOf(state({ storages: [storage({ remark: 'new' })] }));
    const present = '{"bucket":"b","endpoint":"","tls_insecure_skip_verify":false,"secret_access_key":"canary"}';
    const plan = await planImport(await readDocument(file), undefined, state({ storages: [storage({ addition: present })] }));
    expect(plan.storages[0]?.fields.addition).toContain('canary');
  });

  it.each([
    ['another server', '{"bucket":"b","endpoint":"https://elsewhere.example","secret_access_key":"x"}'],
    ['another place of the same', '{"bucket":"c","secret_access_key":"x"}'],
    ['less security', '{"bucket":"b","tls_insecure_skip_verify":true,"secret_access_key":"x"}'],
  ])('keeps no secret of a storage that the file leads to %s', async (_what, addition) => {
    const present = '{"bucket":"b","secret_access_key":"canary"}';
    const file = await fileOf(state({ storages: [storage({ addition })] }));
    const plan = await planImport(await readDocument(file), undefined, state({ storages: [storage({ addition: present })] }));
    expect(JSON.stringify(plan)).not.toContain('canary');
    expect(outcomes(plan)).toContainEqual([
      'storage',
      '/s3',
      'updated',
      expect.stringMatching(/^without its secrets: secret_access_key; they are not kept, as the file changes \w+$/),
    ]);
  });

  it.each([
    ['a server that was none before', { endpoint: 'https://elsewhere.example' }],
    ['less security', { tls_insecure_skip_verify: true }],
  ])('keeps no secret of a storage that the file leads to %s, though it says that it leaves that out', async (_what, more) => {
    const present = '{"bucket":"b","endpoint":"","secret_access_key":"canary"}';
    const { id: _i, status: _s, modified: _m, version: _v, ...fields } = storage();
    const omitted = ['secret_access_key', ...Object.keys(more)];
    const file = JSON.stringify({ storages: [{ ...fields, addition: { bucket: 'b', ...more }, omitted }] });
    const plan = await planImport(await readDocument(file), undefined, state({ storages: [storage({ addition: present })] }));
    expect(JSON.stringify(plan)).not.toContain('canary');
    expect(outcomes(plan)).toEqual([
      [
        'storage',
        '/s3',
        'updated',
        `without its secrets: secret_access_key; they are not kept, as the file changes ${Object.keys(more)[0]}`,
      ],
    ]);
  });

  it('takes no name that every object has for a secret of the file', async () => {
    const { id: _i, status: _s, modified: _m, version: _v, ...fields } = storage();
    const rules = [{ path: 'constructor', password: '', omitted: ['password'] }];
    const file = JSON.stringify({ storages: [{ ...fields, mount_path: 'constructor' }], metas: rules });
    const plan = await planImport(await readDocument(file), { settings: {}, storages: {}, metas: {} }, state());
    expect(outcomes(plan)).toEqual([
      ['storage', '/constructor', 'created', ''],
      ['rule', '/constructor', 'created', expect.stringContaining('set one')],
    ]);
  });

  it.each([
    ['says no secret', []],
    ['says one that is skipped', [{ key: 'rpcdl_secret', value: 'x'.repeat(65_537) }]],
    ['says one that is skipped by its other name', [{ key: 'aria2_secret', value: 'x'.repeat(65_537) }]],
  ])('keeps no secret of a download tool that the file leads elsewhere, and %s', async (_what, secrets) => {
    const settings = [{ key: 'aria2_uri', value: 'http://elsewhere.example/jsonrpc' }, ...secrets];
    const file = JSON.stringify({ encrypted: '', settings });
    const plan = await planImport(await readDocument(file), undefined, state());
    expect(plan.settings.map(({ item }) => [item.key, item.value])).toContainEqual(['rpcdl_secret', '']);
    expect(outcomes(plan)).toContainEqual(['setting', 'rpcdl_secret', 'updated', 'it is not kept, as the file changes rpcdl_uri']);
  });

  it('keeps them where only the folder is another one', async () => {
    const moved = storage({ addition: '{"bucket":"b","root_folder_path":"/x","secret_access_key":"x"}' });
    const plan = await planImport(await readDocument(await fileOf(state({ storages: [moved] }))), undefined, state());
    expect(JSON.parse(plan.storages[0]?.fields.addition ?? '')).toMatchObject({ root_folder_path: '/x', secret_access_key: 'canary' });
  });

  it('leaves room for others, and ends with its caller', async () => {
    const gone = new AbortController();
    setImmediate(() => gone.abort());
    const rules = Array.from({ length: 3_000 }, (_, index) =>
      rule({ path: `/${index}`, hide: `${'\\pL'.repeat(50)}${index}`, read_users: [] }),
    );
    const document = await readDocument(await fileOf(state({ rules })));
    await expect(planImport(document, undefined, state(), gone.signal)).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});

describe('a backup of the family', () => {
  it('is read with all that its clients write', async () => {
    const { id: _i, status: _s, modified: _m, version: _v, ...fields } = storage();
    const plan = await planImport(
      await backup({
        settings: [
          { key: 'version', value: 'v3', help: '', type: 'string', options: '', group: 1, flag: 2 },
          { key: 'site_title', value: 'Old site', help: '', type: 'string', options: '', group: 1, flag: 0 },
          { key: 'aria2_secret', value: 's', help: null, type: 'string', options: '', group: 5, flag: 1 },
          { key: 'ldap_server', value: 'ldap://x', help: '', type: 'string', options: '', group: 8, flag: 1 },
          { key: 'search_index', value: 'quick', help: '', type: 'select', options: '', group: 6, flag: 0 },
        ],
        users: [
          { id: 7, username: 'bob', password: '', base_path: '/b', role: 0, disabled: false, permission: 511, sso_id: null, otp: false },
        ],
        storages: [
          { id: 4, ...fields, status: 'work', modified: '2024-01-01T00:00:00Z' },
          { id: 5, mount_path: '/cloud', driver: '115 Cloud', order: 0, addition: '{}', status: 'work' },
        ],
        metas: [
          {
            id: 1,
            path: '/b',
            password: 'p',
            p_sub: true,
            write: false,
            w_sub: false,
            hide: '',
            h_sub: false,
            readme: '',
            r_sub: false,
            write_users: [7],
            read_users: null,
          },
        ],
      }),
      undefined,
      empty(),
    );
    expect(outcomes(plan)).toEqual([
      ['setting', 'version', 'skipped', 'it is kept as it is here'],
      ['setting', 'ldap_server', 'skipped', 'this version has no such setting'],
      ['setting', 'search_index', 'skipped', expect.stringContaining('failed to execute hook on search_index')],
      ['storage', '/cloud', 'skipped', 'no driver named: 115 Cloud'],
      ['setting', 'site_title', 'updated', ''],
      ['setting', 'aria2_secret', 'updated', ''],
      ['user', 'bob', 'created', expect.stringMatching(/^has no password that anybody knows: set one; gets see_hides, .*, webdav_read$/)],
      ['storage', '/s3', 'created', ''],
      ['rule', '/b', 'created', ''],
    ]);
    expect(plan.rules[0]?.fields).toMatchObject({ password: 'p', writers: ['bob'], readers: [] });
    expect(plan.storages[0]?.fields.addition).toBe(SECRET_ADDITION);
  });

  it.each([
    [{ metas: [{ path: '/a', hide: '(' }] }, ['rule', '/a', 'failed', '( is illegal: missing closing ): `(`']],
    [{ metas: [{ path: '/a', write: 'yes' }] }, ['rule', '/a', 'failed', expect.stringContaining('write: ')]],
    [{ storages: [{ mount_path: '/../x', driver: 'Local' }] }, ['storage', '/../x', 'failed', 'using relative path is not allowed']],
    [{ storages: [{ mount_path: '/x', driver: 'Local', addition: '[' }] }, ['storage', '/x', 'failed', 'addition is not a JSON object']],
    [{ users: [{ username: 'guest', role: 0 }] }, ['user', 'guest', 'failed', 'the administrator or the guest has this name']],
    [{ users: ['bob'] }, ['user', '', 'failed', expect.any(String)]],
  ])('tells what is wrong with %j', async (rest, expected) => {
    expect(outcomes(await planImport(await backup(rest), undefined, empty()))).toContainEqual(expected);
  });

  it('leaves users who are gone out of rules, and opens none by that', async () => {
    const metas = [
      { path: '/a', read_users: [9], write_users: [7, 9] },
      { path: '/b', read_users: [] },
    ];
    const plan = await planImport(await backup({ users: [{ id: 7, username: 'bob', role: 0 }], metas }), undefined, empty());
    expect(outcomes(plan)).toContainEqual([
      ...['rule', '/a', 'created'],
      ['read_users', 'write_users']
        .map((field) => `${field}: users who are not in the file, or whose name somebody here took, are left out`)
        .join('; '),
    ]);
    expect(plan.rules.map(({ fields }) => [fields.readers, fields.writers])).toEqual([
      [['admin'], ['bob']],
      [[], []],
    ]);
  });

  it('leaves a rule as it is whose patterns an earlier version took, and takes other changes of it', async () => {
    const rules = [rule({ hide: '(?i)(?:[a-k]?[a-z0-9]){60}\n'.repeat(200), read_users: [] })];
    const changed = await fileOf(state({ rules: rules.map((each) => ({ ...each, write: true })) }));
    const outcomeOf = async (file: string, there: readonly Rule[]) =>
      outcomes(await planImport(await readDocument(file), undefined, state({ rules: there }))).find(([kind]) => kind === 'rule');
    expect(await outcomeOf(await fileOf(state({ rules })), rules)).toEqual(['rule', '/s3/room', 'unchanged', '']);
    expect(await outcomeOf(changed, rules)).toEqual(['rule', '/s3/room', 'updated', 'users without the right to write do so']);
    expect(await outcomeOf(changed, [])).toEqual([
      'rule',
      '/s3/room',
      'failed',
      expect.stringContaining('too complex: all are looked for'),
    ]);
  });

  it('leaves a storage as it is whose cache policies an earlier version took, and takes other changes of it', async () => {
    const long = storage({ custom_cache_policies: '/a:1\n'.repeat(300) });
    const changed = await fileOf(state({ storages: [{ ...long, order: 9 }] }));
    const outcomeOf = async (file: string, there: readonly Storage[]) =>
      outcomes(await planImport(await readDocument(file), undefined, state({ storages: there }))).find(([kind]) => kind === 'storage')?.[2];
    expect([await outcomeOf(await fileOf(state({ storages: [long] })), [long]), await outcomeOf(changed, [long])]).toEqual([
      'unchanged',
      'updated',
    ]);
    expect(await outcomeOf(changed, [])).toBe('failed');
  });

  it('fails rules that all together have no room for', async () => {
    const long = 'x'.repeat(65_000);
    const texts = { readme: long, header: long };
    const rules = Array.from({ length: 88 }, (_, id) => rule({ id, path: `/${id}`, ...texts, password: long.slice(0, 60_000) }));
    const outcomesOf = async (...metas: readonly unknown[]) =>
      outcomes(await planImport(await backup({ metas }), undefined, state({ settings: [], storages: [], rules })));
    const more = { path: '/more', ...texts };
    expect(await outcomesOf(more)).toEqual([['rule', '/more', 'failed', expect.stringContaining('16 MiB together')]]);
    expect(await outcomesOf({ path: '/0' }, more)).toEqual([
      ['rule', '/0', 'updated', 'everybody reads; it asks for no password any more'],
      ['rule', '/more', 'created', ''],
    ]);
  });

  it('fails storages that all together have no room for', async () => {
    const [addition, remark] = [JSON.stringify({ note: 'x'.repeat(65_000) }), 'x'.repeat(65_000)];
    const storages = Array.from({ length: 128 }, (_, id) => storage({ id, mount_path: `/${id}`, driver: 'Local', addition, remark }));
    const given = { ...NO_STORAGE, mount_path: '/more', driver: 'Local', addition, remark };
    const document = await backup({ storages: [given] });
    expect(outcomes(await planImport(document, undefined, state({ settings: [], rules: [], storages })))).toEqual([
      ['storage', '/more', 'failed', expect.stringContaining('16 MiB together')],
    ]);
  });

  it('tells records apart by the whole of their names', async () => {
    const long = `/${'a'.repeat(250)}`;
    const metas = ['-one', '-two'].map((end) => ({ ...rule({ path: long + end }), id: undefined }));
    const plan = await planImport(await backup({ metas }), undefined, empty());
    expect(plan.rules.map(({ fields, record }) => [fields.path.slice(-4), record.outcome])).toEqual([
      ['-one', 'created'],
      ['-two', 'created'],
    ]);
  });

  it('gives nothing to who took a name of it by themselves', async () => {
    const taken = { ...person(8, 'BOB'), permission: 0, chose_name: true };
    const here = state({ settings: [], storages: [], users: [...empty().users, taken], rules: [rule({ path: '/had', read_users: [8] })] });
    const bob = { id: 7, username: 'bob', role: 0, permission: 255 };
    const metas = ['/new', '/had'].map((path) => ({ path, read_users: [7], password: 'p' }));
    const plan = await planImport(await backup({ users: [bob], metas }), undefined, here);
    expect(outcomes(plan)).toContainEqual(['user', 'bob', 'skipped', expect.stringContaining('took this name by themselves')]);
    expect(plan.users).toEqual([]);
    expect(plan.rules.map(({ fields }) => [fields.path, fields.readers])).toEqual([
      ['/new', ['admin']],
      ['/had', ['BOB']],
    ]);
    expect(await fileOf(here)).not.toContain('chose_name');
  });

  it('takes names that are the same to those who log in for the same', async () => {
    const here = state({ settings: [], storages: [], rules: [], users: [...empty().users, person(8, 'Straße')] });
    const users = [{ id: 7, username: 'STRASSE', role: 0, permission: 1 }];
    const plan = await planImport(await backup({ users, metas: [{ path: '/a', read_users: [7] }] }), undefined, here);
    expect(plan.users).toMatchObject([{ id: 8, fields: { username: 'Straße', permission: 1 } }]);
    expect(plan.rules[0]?.fields.readers).toEqual(['Straße']);
    const twice = await planImport(await backup({ users: [...users, { username: 'strasse', role: 0 }] }), undefined, here);
    expect(outcomes(twice)).toContainEqual(['user', 'strasse', 'failed', 'it is twice in the file']);
  });

  it('says where downloads of a storage are led, and what it opens', async () => {
    const given = { ...NO_STORAGE, addition: SECRET_ADDITION, down_proxy_url: 'http://elsewhere.example', enable_sign: false };
    const note = 'its downloads are led to http://elsewhere.example; its files are to be had without a signature';
    expect(outcomes(await planImport(await backup({ storages: [given] }), undefined, state({ rules: [] })))).toContainEqual([
      ...['storage', '/s3', 'updated'],
      note,
    ]);
  });

  it('says of the one guest whatever it calls it, once, and what it gives people', async () => {
    const closed = { ...person(2, 'guest', 1), disabled: true, permission: 0 };
    const here = { ...empty(), users: [person(1, 'admin', 2), closed, { ...person(3, 'ann'), disabled: true }] };
    const guest = { username: 'ann', role: 1, permission: 5, disabled: false };
    const note = 'the file calls it ann; whoever comes is let in without a login; gets see_hides, offline_download';
    expect(outcomes(await planImport(await backup({ users: [guest] }), undefined, here))).toEqual([['user', 'guest', 'updated', note]]);
    const asItIs = { username: 'guest', role: 1, permission: 0, disabled: true };
    expect(outcomes(await planImport(await backup({ users: [asItIs, guest] }), undefined, here))).toContainEqual([
      'user',
      'ann',
      'failed',
      'it is twice in the file',
    ]);
    const users = [
      { username: 'ann', role: 0, permission: 7, base_path: '/a' },
      { username: 'new', role: 0, permission: 4 },
    ];
    expect(outcomes(await planImport(await backup({ users }), undefined, here))).toEqual([
      ['user', 'ann', 'updated', 'may log in again; gets offline_download; has /a instead of /'],
      ['user', 'new', 'created', 'has no password that anybody knows: set one; gets offline_download'],
    ]);
  });

  it.each([
    ['p_sub', { p_sub: false }, 'it asks for its password below its folder no more'],
    ['readers below', { read_users_sub: false }, 'it keeps readers out below its folder no more'],
    ['writers below', { write_users_sub: false }, 'it keeps writers out below its folder no more'],
    ['names below', { h_sub: false }, 'it hides names below its folder no more'],
    ['the password', { password: 'theirs' }, 'it asks for another password'],
    ['writes below', { w_sub: true }, 'below its folder, too'],
  ])('says what a rule opens by %s', async (_what, changed, note) => {
    const closed = {
      hide: 'x',
      h_sub: true,
      p_sub: true,
      read_users: [3],
      read_users_sub: true,
      write_users: [3],
      write_users_sub: true,
      write: true,
    };
    const here = state({ storages: [], settings: [], rules: [rule(closed)] });
    const file = { ...ruleFields({ path: '/s3/room', ...closed }), password: 'canary', ...changed };
    const users = [{ id: 3, username: 'ann', role: 0, permission: 3 }];
    expect(outcomes(await planImport(await backup({ users, metas: [file] }), undefined, here))).toContainEqual([
      'rule',
      '/s3/room',
      'updated',
      note,
    ]);
  });

  it('says of a new rule what a rule above it keeps there no more, and of a storage and a user what changes', async () => {
    const limited = { ...person(3, 'ann'), quota_bytes: 100 };
    const here = state({
      settings: [],
      users: [...empty().users, limited],
      rules: [rule({ path: '/s3', p_sub: true, read_users_sub: true })],
    });
    const moved = { ...NO_STORAGE, addition: JSON.stringify({ ...JSON.parse(SECRET_ADDITION), root_folder_path: '/elsewhere' }) };
    const users = [{ id: 3, username: 'ann', role: 0, permission: 3, quota_bytes: 0 }];
    const settings = [{ key: 'allow_indexed', value: 'true' }];
    const metas = [{ path: '/s3/in/room' }];
    const told = outcomes(await planImport(await backup({ metas, storages: [moved], users, settings }), undefined, here));
    const opens = '/s3 asks for its password there no more; /s3 keeps readers out there no more';
    expect(told).toContainEqual(['rule', '/s3/in/room', 'created', opens]);
    expect(told).toContainEqual(['storage', '/s3', 'updated', 'its root is /elsewhere']);
    expect(told).toContainEqual(['user', 'ann', 'updated', 'has no quota any more']);
    expect(told).toContainEqual(['setting', 'allow_indexed', 'updated', 'it is true now']);
  });

  it('says what it opens of rules, signatures and storages', async () => {
    const here = state({ rules: [rule({ hide: 'x' }), rule({ id: 2, path: '/two', write_users: [3] })] });
    const metas = [
      { path: '/s3/room', password: '', write: true },
      { path: '/two', password: 'canary', read_users: [3, 2], write_users: [3] },
    ];
    const users = [
      { id: 3, username: 'ann', role: 0 },
      { id: 2, username: 'whoever', role: 1 },
    ];
    const settings = [{ key: 'sign_all', value: 'false' }];
    const storages = [{ ...NO_STORAGE, addition: SECRET_ADDITION, down_proxy_url: 'http://there.example', disable_proxy_sign: true }];
    const told = outcomes(await planImport(await backup({ users, metas, settings, storages }), undefined, here));
    const opens =
      'everybody reads; users without the right to write do so; it asks for no password any more; it hides other names than before';
    expect(told).toContainEqual(['rule', '/s3/room', 'updated', opens]);
    expect(told).toContainEqual(['rule', '/two', 'updated', 'guest reads, too; it asks for its password below its folder no more']);
    expect(told).toContainEqual(['setting', 'sign_all', 'updated', 'its files are to be had without a signature']);
    expect(told).toContainEqual([
      'storage',
      '/s3',
      'updated',
      'its downloads are led to http://there.example; its links there have no signature',
    ]);
  });

  it('fails a record that is twice in it', async () => {
    const twice = { username: 'bob', role: 0 };
    expect(outcomes(await planImport(await backup({ users: [twice, twice] }), undefined, empty()))).toContainEqual([
      'user',
      'bob',
      'failed',
      'it is twice in the file',
    ]);
  });
});

describe('a file of very many records', () => {
  const users = Array.from({ length: 50_000 }, (_, index) => ({ username: `user-${index}`, role: 0 }));
  const json = JSON.stringify({ encrypted: '', settings: [], users, storages: [], metas: [] });

  it('leaves room for others while it is read', async () => {
    const turns = countTurns();
    const { users: read } = await readDocument(json);
    turns.stop();
    expect(read).toHaveLength(50_000);
    expect(turns.count()).toBeGreaterThan(0);
  });

  it('is read no longer than its caller waits', async () => {
    const gone = new AbortController();
    setImmediate(() => gone.abort());
    await expect(readDocument(json, gone.signal)).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});

describe('a storage of very many items', () => {
  const additionOf = (prefix: string, count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 1])));
  /** How many elements of lists are looked at for one that is looked for. */
  const looksFor = async (addition: string) => {
    const omitted = ['secret_access_key', ...Array.from({ length: 4_000 }, (_, index) => `omitted-${index}`)];
    const document = await backup({ storages: [{ mount_path: '/s3', driver: 'S3', addition, omitted }] });
    const there = storage({ addition: `{"secret_access_key":"canary",${additionOf('there-', 4_000).slice(1)}` });
    const includes = vi.spyOn(Array.prototype, 'includes');
    const plan = await planImport(document, undefined, state({ settings: [], rules: [], storages: [there] }));
    const looks = includes.mock.contexts.reduce<number>((sum, list) => sum + (Array.isArray(list) ? list.length : 0), 0);
    includes.mockRestore();
    return { looks, outcome: outcomes(plan)[0]?.[2] };
  };

  it('is compared with the one that is there by one look at each', async () => {
    const { looks, outcome } = await looksFor(additionOf('given-', 4_000));
    expect(outcome).toBe('updated');
    expect(looks).toBeLessThan(20_000);
  });

  it('is not compared where it is too long to be taken', async () => {
    const { looks, outcome } = await looksFor(additionOf('given-', 40_000));
    expect(outcome).toBe('failed');
    expect(looks).toBeLessThan(20_000);
  });

  it('keeps its secret where the text of its items leaves that out, and none that the text has', async () => {
    const planOf = async (addition: string) => {
      const omitted = ['secret_access_key', 'endpoint'];
      return planImport(await backup({ storages: [{ ...NO_STORAGE, addition, omitted }] }), undefined, state());
    };
    expect(outcomes(await planOf('{"bucket":"b"}')).at(-1)).toEqual(['storage', '/s3', 'unchanged', '']);
    const elsewhere = await planOf('{"bucket":"b","endpoint":"https://elsewhere.invalid"}');
    expect(elsewhere.storages[0]?.fields.addition).not.toContain('canary');
  });
});

describe('a file that is none', () => {
  it.each([
    ['', 'this is no configuration'],
    ['[]', 'this is no configuration'],
    ['{}', 'the file has no settings, users, storages or metas'],
    ['{"settings":{}}', 'this is no configuration: settings'],
    ['{"format":"another","version":2,"users":{}}', 'the file is of version 2; this server reads up to 1'],
    ['{"format":"wharf-configuration","version":2}', 'the file is of version 2; this server reads up to 1'],
    ['{"encrypted":"U2Fsd","settings":["x"]}', 'this backup is encrypted; make one without a password and import that'],
  ])('is refused: %j', async (json, message) => {
    await expect(readDocument(json)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(message) });
  });
});
