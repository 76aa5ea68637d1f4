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
  expect(names).toEqual(expect.arrayContaining([...KEPT_FOR]));
});
