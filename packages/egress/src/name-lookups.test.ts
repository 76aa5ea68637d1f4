import { expect, it } from 'vitest';
import { createEgress } from './egress.ts';
import { createEgressPolicy } from './egress-policy.ts';

/** A policy whose name server answers for `fast.example`, and is silent about all other names until it is told. */
function open(audience: 'user' | 'admin' = 'user') {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const policy = createEgressPolicy({
    ...{ allow: [], forbidden: [], audience },
    async resolve(host) {
      asked.push(host);
      if (host !== 'fast.example') await new Promise<void>((resolve) => answers.push(resolve));
      return ['93.184.215.14'];
    },
  });
  return { policy, asked, answerNext: () => answers.shift()?.() };
}

const names = (owner: string, count: number) => Array.from({ length: count }, (_, index) => `${owner}-${index}.example`);

it('names of one user whose servers are silent hold up nobody else', async () => {
  const { policy, asked } = open();
  for (const name of names('eve', 100)) void policy.forOwner('eve').resolve(name, 80);
  expect(await policy.forOwner('bob').resolve('fast.example', 80)).toEqual(['93.184.215.14']);
  expect(asked).toEqual([...names('eve', 3), 'fast.example']);
});

it('users have their turns, however many names one of them has asked for', async () => {
  const { policy, asked, answerNext } = open();
  for (const owner of ['eve', 'bob']) for (const name of names(owner, 5)) void policy.forOwner(owner).resolve(name, 80);
  await expect.poll(() => asked).toEqual([...names('eve', 3), 'bob-0.example']);
  answerNext();
  await expect.poll(() => asked).toHaveLength(5);
  expect(asked.at(-1)).toBe('eve-3.example');
  answerNext();
  await expect.poll(() => asked).toHaveLength(6);
  expect(asked.at(-1)).toBe('bob-1.example');
});

it('one who has too many names waiting is told so, and nobody else', async () => {
  const { policy } = open();
  for (const name of names('eve', 259)) void policy.forOwner('eve').resolve(name, 80);
  await expect(policy.forOwner('eve').resolve('one-more.example', 80)).rejects.toMatchObject({ code: 'OVERLOADED' });
  expect(await policy.forOwner('bob').resolve('fast.example', 80)).toHaveLength(1);
});

it('names from the admin have no such bound', async () => {
  const { policy, asked } = open('admin');
  for (const name of names('storage', 20)) void policy.resolve(name, 80);
  await expect.poll(() => asked).toHaveLength(20);
});

it('names that one storage leads on to hold up no other storage', async () => {
  const { policy, asked } = open();
  const egress = createEgress(policy);
  const [one, other] = [egress.toPublic(), egress.toPublic()];
  for (const host of names('one', 10)) void one.connect({ host, port: 80 }).catch(() => undefined);
  void other.connect({ host: 'other.example', port: 80 }).catch(() => undefined);
  await expect.poll(() => asked).toEqual([...names('one', 3), 'other.example']);
});
