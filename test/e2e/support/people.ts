import { type Api, api, at, login } from '@wharf/harness';
import type { World } from './world.ts';

export interface Person extends Api {
  readonly id: number;
  readonly username: string;
  readonly password: string;
}

/** The bits of `permission`. */
export const PERMISSION = {
  seeHidden: 1,
  skipPassword: 2,
  write: 8,
  rename: 16,
  move: 32,
  copy: 64,
  remove: 128,
} as const;

/** Everything that changes files, and neither hidden entries nor path passwords. */
export const ALL_WRITES = PERMISSION.write | PERMISSION.rename | PERMISSION.move | PERMISSION.copy | PERMISSION.remove;

const GENERAL = 0;

/** Makes a user and logs in as that user. */
export async function makePerson(
  world: World,
  fields: { permission?: number; base_path?: string; username?: string } = {},
): Promise<Person> {
  const username = fields.username ?? world.unique('person');
  const password = `secret of ${username}`;
  await world.admin.call('/api/admin/user/create', userFields({ username, password, ...fields }));
  const id = await idOfUser(world, username);
  return { ...(await login(world.base, username, password)), id, username, password };
}

export function userFields(fields: Record<string, unknown>): Record<string, unknown> {
  return { password: '', base_path: '/', role: GENERAL, disabled: false, permission: 0, sso_id: '', ...fields };
}

async function idOfUser(world: World, username: string): Promise<number> {
  const users = at(await dataOf(world.admin, '/api/admin/user/list'), 'content');
  const user = Array.isArray(users) ? users.find((each) => at(each, 'username') === username) : undefined;
  const id = at(user, 'id');
  if (typeof id !== 'number') throw new Error(`there is no user ${username}`);
  return id;
}

/** Runs something while the guest may come in. */
export async function withGuest<T>(world: World, use: (guest: Api) => Promise<T>, permission = 0): Promise<T> {
  const id = await idOfUser(world, 'guest');
  const guest = userFields({ id, username: 'guest', role: 1, permission });
  await world.admin.call('/api/admin/user/update', guest);
  try {
    return await use(api(world.base));
  } finally {
    await world.admin.call('/api/admin/user/update', { ...guest, permission: 0, disabled: true });
  }
}

/** The data of a GET that must succeed. */
export async function dataOf(caller: Api, path: string): Promise<unknown> {
  const answer = await caller.get(path);
  if (answer.code !== 200) throw new Error(`GET ${path} answered ${answer.code}: ${answer.message}`);
  return answer.data;
}
