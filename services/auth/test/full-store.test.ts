import { KEPT_FOR } from '@wharf/service-kit';
import { expect, it, onTestFinished } from 'vitest';
import { ADMIN_PASSWORD, openPlace } from './replica.ts';

it('a store that is full of what users made still logs in whoever is to make room, also after wrong passwords and for a new user', async () => {
  const place = await openPlace({ maxDocuments: 1_000, keptFor: KEPT_FOR });
  onTestFinished(() => place.close());
  const { auth, as, models } = await place.open();
  const entries = Array.from({ length: 1_000 }, (_, index) => ({ _id: index, replica: 'other', at: new Date(), paths: [] }));
  await expect(models.entryChanges.insertMany(entries)).rejects.toMatchObject({ code: 14_031 });
  const login = (username: string, password: string) => auth.login({ username, password, address: '192.0.2.1' });
  await expect(login('admin', 'wrong')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect((await login('admin', ADMIN_PASSWORD)).token).not.toBe('');
  await auth.createUser({ user: { username: 'somebody', password: 'a password', base_path: '/' } }, as());
  expect((await login('somebody', 'a password')).token).not.toBe('');
});

it('what the store keeps room for are collections of it', async () => {
  const place = await openPlace();
  onTestFinished(() => place.close());
  const { models } = await place.open();
  const names = Object.values(models).map(({ collection }) => collection.collectionName);
  expect(names).toEqual(expect.arrayContaining(KEPT_FOR.map((name) => name.replace('/2', ''))));
});

/** A store whose last twentieth alone is free. */
async function openFullPlace(maxDocuments: number) {
  const place = await openPlace({ maxDocuments, keptFor: KEPT_FOR });
  onTestFinished(() => place.close());
  const replica = await place.open();
  const { models } = replica;
  const entries = Array.from({ length: maxDocuments }, (_, index) => ({ _id: index, replica: 'other', at: new Date(), paths: [] }));
  await expect(models.entryChanges.insertMany(entries)).rejects.toMatchObject({ code: 14_031 });
  return replica;
}

it('in a store that is full the logins of one user leave room for those of others', async () => {
  const { auth, as } = await openFullPlace(1_000);
  const login = (username: string, password: string) => auth.login({ username, password, address: '192.0.2.1' });
  await auth.createUser({ user: { username: 'somebody', password: 'a password', base_path: '/' } }, as());
  for (let turn = 0; turn < 60; turn += 1) expect((await login('somebody', 'a password')).token).not.toBe('');
  expect((await login('admin', ADMIN_PASSWORD)).token).not.toBe('');
});

it('in a store that is full wrong passwords from many addresses leave room for the logins of others, and are counted', async () => {
  const { auth, models } = await openFullPlace(1_000);
  const login = (username: string, password: string, address: string) => auth.login({ username, password, address });
  for (let turn = 0; turn < 30; turn += 1)
    await expect(login(`nobody ${turn}`, 'wrong', `192.0.2.${turn}`)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect((await login('admin', ADMIN_PASSWORD, '198.51.100.1')).token).not.toBe('');
  for (let turn = 0; turn < 5; turn += 1)
    await expect(login('admin', 'wrong', '198.51.100.2')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  await expect(login('admin', ADMIN_PASSWORD, '198.51.100.2')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(await models.loginAttempts.countDocuments()).toBeLessThanOrEqual(25);
});
