import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAvailable, isMissing } from '@wharf/harness';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from './support/browser.ts';
import { openPageWorld, type PageWorld } from './support/page-world.ts';
import { crowdedPdf } from './support/pdf.ts';
import { writeSampleTree } from './support/sample-tree.ts';
import { expectAccessible } from './support/web-page.ts';

const found = await openBrowser();
/** In the page: where the picture lies, and how large it is. */
const PICTURE = `(() => {
  const { left, top, width } = document.querySelector('.image-view > img').getBoundingClientRect();
  return { left: Math.round(left), top: Math.round(top), width: Math.round(width) };
})()`;
/** In the page and in its threads, before anything of them runs: what kinds of bodies are sent. */
const WATCH_BODIES = `{
  globalThis.sentBodies = [];
  const others = new BroadcastChannel('sent bodies');
  others.onmessage = ({ data }) => globalThis.sentBodies.push(data);
  const { send } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.send = function (body) {
    const kind = Object.prototype.toString.call(body);
    globalThis.sentBodies.push(kind);
    others.postMessage(kind);
    return send.call(this, body);
  };
}`;

/** How letters are shaped in the text that is open: each way once. */
const SHAPED = `(() => {
  const shown = document.querySelector('.viewer-page');
  const styles = [shown, ...shown.querySelectorAll('*')].map((each) => getComputedStyle(each));
  return [...new Set(styles.map((style) => style.fontKerning + ' ' + style.fontVariantLigatures))];
})()`;

describe.runIf(isAvailable('chromium', found))('the file view', () => {
  let world: PageWorld;
  let context: BrowserContext;
  let page: Page;
  let said: readonly string[];

  beforeAll(async () => {
    world = await openPageWorld(found as Browser);
  });
  afterEach(async () => {
    await context.close();
    expect(said).toEqual([]);
  });
  afterAll(async () => {
    if (!isMissing(found)) await found.close();
    await world?.close();
  });

  const show = async (path: string, options?: Parameters<PageWorld['open']>[2]) => {
    ({ context, page, said } = await world.open(world.admin.token ?? '', path, options));
  };
  const openFolder = async (purpose: string, files: Readonly<Record<string, string>>, options?: Parameters<PageWorld['open']>[2]) => {
    const folder = await world.folder(purpose);
    for (const [name, text] of Object.entries(files)) {
      await mkdir(join(folder.disk, name, '..'), { recursive: true });
      await writeFile(join(folder.disk, name), text);
    }
    await show(folder.path, options);
    await page.getByRole('grid').waitFor();
    return folder;
  };
  const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  const chosen = () => page.locator('[aria-selected="true"] .cell-link').allTextContents();
  const active = () => page.locator('.is-active .cell-link').allTextContents();
  const picture = () => page.evaluate(PICTURE) as Promise<{ left: number; top: number; width: number }>;

  test('a picture is made larger by wheel, double click, keys and buttons, and moved; arrows lead on once all of it is seen', async () => {
    const folder = await world.folder('zoomed');
    writeSampleTree(folder.disk);
    await show(`${folder.path}/Summer/Photos/IMG_2114.png`);
    await page.getByRole('img', { name: 'IMG_2114.png' }).waitFor();
    const width = async () => (await picture()).width;
    await expect.poll(width).toBe(720);
    const { left, top } = await picture();
    // What is under the pointer stays there.
    await page.mouse.move(left + 90, top + 60);
    await page.mouse.wheel(0, -400);
    await expect.poll(width).toBe(1_440);
    await page.keyboard.press('0');
    await expect.poll(picture).toEqual({ left, top, width: 720 });
    await page.keyboard.press('+');
    await expect.poll(width).toBe(1_080);
    await page.keyboard.press('-');
    await expect.poll(width).toBe(720);
    for (let step = 0; step < 4; step += 1) await page.getByRole('button', { name: 'Larger' }).click();
    await expect.poll(width).toBeGreaterThan(3_600);
    await expectAccessible(page);
    const before = await picture();
    await page.mouse.move(600, 400);
    await page.mouse.down();
    await page.mouse.move(500, 370, { steps: 4 });
    await page.mouse.up();
    await expect.poll(picture).toMatchObject({ left: before.left - 100, top: before.top - 30 });
    await page.keyboard.press('ArrowLeft');
    await expect.poll(picture).toMatchObject({ left: before.left - 20 });
    await page.getByRole('button', { name: 'All of it' }).click();
    await expect.poll(width).toBe(720);
    await page.mouse.dblclick(left + 100, top + 100);
    await expect.poll(width).toBe(1_440);
    await page.mouse.dblclick(left + 100, top + 100);
    await expect.poll(width).toBe(720);
    await page.keyboard.press('ArrowRight');
    await page.getByRole('img', { name: 'IMG_2121.png' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('a markdown text shows the pictures beside it, and leads to what lies beside it', async () => {
    const folder = await world.folder('prose');
    writeSampleTree(folder.disk);
    const [file] = (await readdir(join(folder.disk, 'Summer/Photos'))).filter((name) => name.endsWith('.png'));
    await writeFile(
      join(folder.disk, 'Summer/notes.md'),
      `# Notes\n\n![the sea](Photos/${file})\n\n![gone](no.png)\n\n[the photos](./Photos/) [up](../x%20y.txt#end)\n`,
    );
    await writeFile(join(folder.disk, 'x y.txt'), 'found');
    await show(`${folder.path}/Summer/notes.md`);
    await page.getByRole('img', { name: 'the sea' }).waitFor();
    await expect.poll(() => page.evaluate(`document.querySelector('img[alt="the sea"]').naturalWidth`)).toBeGreaterThan(0);
    expect(await page.getByAltText('gone').getAttribute('src')).toBeNull();
    expect(await page.getByRole('link', { name: 'the photos' }).getAttribute('href')).toBe(`${folder.path}/Summer/Photos`);
    expect(await page.getByRole('link', { name: 'up' }).getAttribute('href')).toBe(`${folder.path}/x%20y.txt#end`);
  });

  test('a markdown text shows pictures of other sites only where it is asked to', async () => {
    const picture = (name: string) => `http://far.invalid/${name}`;
    const html = `<img srcset="${picture('set')}" alt=""><video poster="${picture('poster')}" src="${picture('film')}"></video><audio src="${picture('sound')}" autoplay></audio><table background="${picture('back')}"><tr><td background="${picture('cell')}">x</td></tr></table><picture><source srcset="${picture('source')}"><img src="//far.invalid/without" alt=""></picture>`;
    await openFolder('far', {
      'far.md': `# Far\n\n![the land](${picture('land')})\n\n${html}\n\n![drawn](data:image/gif;base64,R0lGODlhAQABAAAAACw=)\n`,
    });
    const asked: string[] = [];
    await page.route(/far\.invalid/, (route) => {
      asked.push(new URL(route.request().url()).pathname);
      return route.abort();
    });
    await page.getByRole('link', { name: 'far.md' }).click();
    await page.getByRole('heading', { name: 'Far', exact: true }).waitFor();
    expect(await page.getByAltText('drawn').getAttribute('src')).toContain('data:');
    await page.getByRole('button', { name: 'Show them' }).click();
    await expect.poll(() => asked.toSorted()).toEqual(['/land', '/without']);
    expect(await page.getByRole('button', { name: 'Show them' }).count()).toBe(0);
  });

  test('a markdown text that costs far more than its length stays as it is, and the page goes on', { timeout: 120_000 }, async () => {
    const folder = await world.folder('costly');
    const many = (count: number, piece: (at: number) => string) => Array.from({ length: count }, (_, at) => piece(at)).join('');
    const texts = {
      'marks.md': '*a_'.repeat(20_000),
      'deep.md': `${'> '.repeat(20_000)}a`,
      // Of these, it is the page that has to look through them.
      'open.md': `<div><p>${many(400, (at) => `<b id=a${at}>`)}${'</p><p>x'.repeat(400)}`,
      'attributes.md': `<div ${many(100_000, (at) => `q${at} `)}>x</div>`,
      'blocks.md': `<div>${'<p>'.repeat(600_000)}`,
    };
    // This one a fast browser cleans in time, a slow one does not.
    const unknown = '<x-y>'.repeat(500) + '<p>a'.repeat(90_000);
    for (const [name, text] of Object.entries({ ...texts, 'unknown.md': unknown })) {
      await writeFile(join(folder.disk, name), text);
      await show(`${folder.path}/${name}`);
      const plain = page.locator('.viewer-page pre').filter({ hasText: text.slice(0, 60) });
      const shown = text === unknown ? plain.or(page.locator('.viewer-page > p:last-of-type')) : plain;
      await shown.first().waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await writeFile(
      join(folder.disk, 'links.md'),
      '# Links\n\n<label for="x">a</label><video src="a.mp4" autoplay></video><svg><a xlink:href="http://127.0.0.1:1/"><text y="9">in it</text></a></svg><map name="m"><area href="http://127.0.0.1:1/"></map>\n',
    );
    await show(`${folder.path}/links.md`);
    await page.getByRole('heading', { name: 'Links', exact: true }).waitFor();
    expect(await page.locator('.viewer-page :is(svg, map, area, label, [autoplay])').count()).toBe(0);
    // A few hundred of the first in each other end a tab; of the others a browser counts what is before each of them.
    const busy = {
      marquee: '<marquee>'.repeat(300),
      li: `<ol>${'<li value=5>x'.repeat(2_000)}`,
      q: '<q>'.repeat(400),
      bdo: '<bdo dir=rtl>א'.repeat(300),
      table: `<table>${Array.from({ length: 400 }, (_, at) => `<tr><td rowspan=${65_000 - at} colspan=${1 + at}>x<td rowspan=2 colspan=1000>`).join('')}</table>`,
      rows: `<table>${'<tr><td rowspan=0>x'.repeat(10_000)}</table>`,
    };
    for (const [name, text] of Object.entries(busy)) {
      await writeFile(join(folder.disk, `${name}.md`), `# The ${name}\n\n${text}`);
      await show(`${folder.path}/${name}.md`);
      await page.getByRole('heading', { name: `The ${name}`, exact: true }).waitFor();
      expect(await page.locator('.viewer-page :is(marquee, q, bdo, [value], [colspan], [rowspan="0"])').count()).toBe(0);
    }
    await writeFile(join(folder.disk, 'cells.md'), '# The cells\n\n<table><tr><td colspan=2>a<tr><td rowspan=2>b<td>c<tr><td>d</table>');
    await show(`${folder.path}/cells.md`);
    await page.locator('.viewer-page [colspan="2"]').waitFor();
    expect(await page.locator('.viewer-page [rowspan="2"]').count()).toBe(1);
  });

  test('no word is shaped anew for each of its lines: long ones are parted, and letters are not kerned', async () => {
    const word = 'ب'.repeat(2_000);
    await openFolder('words', { 'word.txt': word, 'word.md': `${word}\n\n# ${word}\n\n| a |\n|-|\n| ${word} |` });
    for (const [name, words] of Object.entries({ 'word.txt': 1, 'word.md': 3 })) {
      await row(name).dblclick();
      const shown = page.locator('.viewer-page');
      await shown.getByText(word.slice(0, 500)).first().waitFor();
      expect(await shown.locator('wbr').count()).toBe(3 * words);
      expect(await page.evaluate(SHAPED)).toEqual(['none none']);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
  });

  test('a line whose colours take the third power of its letters holds up nothing', async () => {
    const text = `a = ${'0'.repeat(9_900)}`;
    await openFolder('colours', {
      'zeros.cmake': text,
      'short.cmake': 'set(A "b")',
      'long.json': JSON.stringify({ a: 'x'.repeat(5_000) }),
    });
    const coloured = page.locator('.code-field .cm-line span[class]');
    for (const [name, hasColours] of Object.entries({ 'zeros.cmake': false, 'short.cmake': true, 'long.json': true })) {
      await row(name).dblclick();
      await page.locator('.code-field .cm-line').first().waitFor();
      if (hasColours) await coloured.first().waitFor();
      else expect(await coloured.count()).toBe(0);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
  });

  test('a picture and a document that never come to an end hold up nothing', { timeout: 60_000 }, async () => {
    // A box of no length, behind which the next one begins at the same place.
    const endless = `\0\0\0\x18ftypheic\0\0\0\0mif1heic${'\0'.repeat(40)}`;
    await openFolder('endless', { 'beach.jpg': endless, 'crowd.pdf': crowdedPdf(7), 'next.txt': 'and on it goes' });
    await row('beach.jpg').click();
    await page.getByRole('button', { name: 'Details' }).first().click();
    const details = page.getByRole('complementary', { name: 'Details' });
    await details.getByText('beach.jpg').waitFor();
    // It is read by now, or by nobody.
    await expect.poll(() => page.evaluate(`performance.getEntriesByType('resource').some(({ name }) => name.includes('/p/'))`)).toBe(true);
    await row('crowd.pdf').dblclick();
    await page.getByText('more than 20,000 pages').waitFor();
    await page.keyboard.press('Escape');
    await row('next.txt').dblclick();
    await page.getByText('and on it goes').waitFor();
  });

  test('a picture that fails twice, as one of which the address changes while it comes, does so without a word', async () => {
    await openFolder('twice', { 'inner/a.png': 'no picture' });
    await page.route('**/a.png*', () => {});
    await row('inner').dblclick();
    await page.locator('.cell-picture img').evaluate((picture) => {
      for (let time = 0; time < 2; time += 1) picture.dispatchEvent(new Event('error'));
    });
    await page.locator('.cell-picture svg').waitFor();
  });

  test('two fingers make a picture larger, and one leads to the next', async () => {
    const folder = await world.folder('touched');
    writeSampleTree(folder.disk);
    await show(`${folder.path}/Summer/Photos/IMG_2114.png`, { hasTouch: true, isMobile: true, viewport: { width: 390, height: 780 } });
    await page.getByRole('img', { name: 'IMG_2114.png' }).waitFor();
    // Its name stands there before it has loaded.
    await page.waitForFunction("document.querySelector('.image-view > img').complete");
    const fitted = await picture();
    const devtools = await context.newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...xs: readonly number[]) =>
      devtools.send('Input.dispatchTouchEvent', { type, touchPoints: xs.map((x, id) => ({ x, y: 400, id })) });
    await touch('touchStart', 300);
    for (const x of [260, 200, 120]) await touch('touchMove', x);
    await touch('touchEnd');
    await page.getByRole('img', { name: 'IMG_2121.png' }).waitFor();
    await expect.poll(picture).toEqual(fitted);
    await touch('touchStart', 170, 220);
    await touch('touchMove', 145, 245);
    await touch('touchMove', 120, 270);
    await touch('touchEnd');
    await expect.poll(async () => (await picture()).width).toBe(3 * fitted.width);
  });

  test('the browser’s back button asks before it leaves a text that is not saved, as often as it is pressed', async () => {
    const { path, disk } = await openFolder('unsaved', { 'a.txt': 'first', 'b.txt': 'second' });
    await row('a.txt').dblclick();
    const address = () => new URL(page.url()).pathname;
    const question = page.getByRole('alert').filter({ hasText: 'Your changes are not saved.' });
    const write = async () => {
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.locator('.code-field .cm-content').click();
      await page.keyboard.type('more ');
      await page.getByText('Not saved yet').waitFor();
    };
    await write();
    await page.goBack();
    await question.waitFor();
    await expect.poll(address).toBe(`${path}/a.txt`);
    await expectAccessible(page);
    await question.getByRole('button', { name: 'Go on editing' }).click();
    await page.keyboard.press('Escape');
    await question.waitFor();
    await page.goBack();
    await expect.poll(address).toBe(`${path}/a.txt`);
    await question.getByRole('button', { name: 'Discard them' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect.poll(address).toBe(path);
    await row('b.txt').waitFor();
    expect(await readFile(join(disk, 'a.txt'), 'utf8')).toBe('first');
  });

  test('many are renamed by what they have in common, and what becomes of each is seen before', async () => {
    const files = { 'IMG_1.jpg': '1', 'IMG_2.jpg': '2', 'IMG_3.jpg': '3', 'Lake 02.jpg': 'x', 'other.txt': '' };
    const { disk } = await openFolder('renamed', files);
    await row('IMG_1.jpg').click();
    await row('IMG_3.jpg').click({ modifiers: ['Shift'] });
    await page.getByRole('grid').focus();
    await page.keyboard.press('F2');
    const dialog = page.getByRole('dialog', { name: 'Rename many' });
    await dialog.getByLabel('Replace by').fill('Lake {nn}');
    await dialog.getByText('taken').waitFor();
    await expectAccessible(page);
    expect(await dialog.getByRole('button', { name: 'Rename 3' }).isDisabled()).toBe(true);
    await dialog.getByLabel('Find in the names').fill('^IMG_(\\d)$');
    await dialog.getByLabel('Regular expression').check();
    await dialog.getByLabel('Replace by').fill('Sea $1');
    await dialog.getByText('Sea 3.jpg').waitFor();
    await dialog.getByRole('button', { name: 'Rename 3' }).click();
    await row('Sea 1.jpg').waitFor();
    await page.getByText('3 items renamed').waitFor();
    expect((await readdir(disk)).toSorted()).toEqual(['Lake 02.jpg', 'Sea 1.jpg', 'Sea 2.jpg', 'Sea 3.jpg', 'other.txt']);
    expect(await readFile(join(disk, 'Sea 2.jpg'), 'utf8')).toBe('2');
    expect(await chosen()).toEqual(['Sea 1.jpg', 'Sea 2.jpg', 'Sea 3.jpg']);
  });

  test('a rectangle that is drawn chooses what it touches; what is chosen is dragged by it', async () => {
    await openFolder('drawn', { 'a.txt': '', 'b.txt': '', 'c.txt': '', 'd.txt': '', 'into/x.txt': '' });
    const middle = async (name: string) => {
      const box = await row(name).boundingBox();
      if (!box) throw new Error(`${name} is not seen`);
      return { x: box.x + box.width * 0.6, y: box.y + box.height / 2 };
    };
    const draw = async (from: { x: number; y: number }, to: { x: number; y: number }) => {
      await page.mouse.move(from.x, from.y);
      await page.mouse.down();
      await page.mouse.move(to.x, to.y, { steps: 6 });
      await page.mouse.up();
    };
    await draw(await middle('a.txt'), await middle('c.txt'));
    expect(await chosen()).toEqual(['a.txt', 'b.txt', 'c.txt']);
    await page.keyboard.down('Control');
    await draw(await middle('d.txt'), { x: 900, y: (await middle('d.txt')).y + 200 });
    await page.keyboard.up('Control');
    expect(await chosen()).toEqual(['a.txt', 'b.txt', 'c.txt', 'd.txt']);
    await draw(await middle('b.txt'), await middle('into'));
    await expect.poll(() => page.locator('.cell-link').allTextContents()).toEqual(['into']);
  });

  test('signs that turn a name around are seen; a name that is not changed stays, whatever it has at its ends', async () => {
    const names = [' spaced.txt ', 'photo\u202egpj.exe'];
    const { disk } = await openFolder('signs', Object.fromEntries(names.map((name) => [name, ''])));
    await row('photo\ufffdgpj.exe').click();
    await page.keyboard.press('Delete');
    await page.getByRole('heading', { name: 'photo\ufffdgpj.exe' }).waitFor();
    expect(await page.getByRole('dialog').textContent()).not.toContain('\u202e');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await row('spaced.txt').click();
    await page.keyboard.press('F2');
    const renaming = page.locator('.name-field');
    await renaming.waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.keyboard.press('Enter');
    await renaming.waitFor({ state: 'detached' });
    // Which asks for the list, behind what would have been asked for before.
    await page.keyboard.press('F8');
    await expect.poll(() => asked).toContain('/api/fs/list');
    expect(asked).not.toContain('/api/fs/rename');
    expect((await readdir(disk)).toSorted()).toEqual(names);
  });

  test('what is dragged in another tab moves nothing of this one', async () => {
    await openFolder('tabs', { 'a.txt': '', 'b.txt': '', 'into/x.txt': '' });
    await row('a.txt').click();
    const other = await context.newPage();
    await other.goto(page.url());
    await other.locator('.cell', { hasText: 'b.txt' }).waitFor();
    const dragStart = `(() => {
      const data = new DataTransfer();
      const cell = [...document.querySelectorAll('.cell')].find(({ textContent }) => textContent.includes('b.txt'));
      cell.dispatchEvent(new DragEvent('dragstart', { bubbles: true, dataTransfer: data }));
      return [...data.types];
    })()`;
    const isTaken = (types: unknown) =>
      page.evaluate(`(() => {
        const data = new DataTransfer();
        for (const type of ${JSON.stringify(types)}) data.setData(type, 'x');
        const cell = [...document.querySelectorAll('.cell')].find(({ textContent }) => textContent.includes('into'));
        return !cell.dispatchEvent(new DragEvent('dragover', { bubbles: true, cancelable: true, dataTransfer: data }));
      })()`);
    expect(await isTaken(await other.evaluate(dragStart))).toBe(false);
    expect(await isTaken(await page.evaluate(dragStart))).toBe(true);
  });

  test('what is saved beside a file that others saved replaces nothing', async () => {
    const { disk } = await openFolder('beside', { 'a.txt': 'first', 'a (2).txt': 'a copy of somebody' });
    await row('a.txt').dblclick();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.locator('.cm-content').fill('what I wrote');
    await writeFile(join(disk, 'a.txt'), 'what they wrote');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: 'Save it beside theirs' }).click();
    await page.getByText('a (3).txt').first().waitFor();
    const texts = await Promise.all(['a.txt', 'a (2).txt', 'a (3).txt'].map((name) => readFile(join(disk, name), 'utf8')));
    expect(texts).toEqual(['what they wrote', 'a copy of somebody', 'what I wrote']);
  });

  test('space looks at a file and closes it; back in a folder, what was chosen is chosen', async () => {
    await openFolder('looked', { 'a.txt': 'text of a', 'b.txt': '', 'inner/deep/c.txt': '' });
    await row('a.txt').click();
    await page.getByRole('grid').focus();
    await page.keyboard.press(' ');
    await page.getByText('text of a').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // Keys that act on the folder do so from anywhere; those of the list work on after a box of it was pressed.
    await page.getByRole('button', { name: 'admin' }).focus();
    await page.keyboard.press('/');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('checkbox', { name: 'Select a.txt' }).uncheck();
    await page.getByRole('checkbox', { name: 'Select a.txt' }).check();
    await page.keyboard.press('Control+ArrowDown');
    await page.keyboard.press('Control+ ');
    expect(await chosen()).toEqual(['a.txt', 'b.txt']);
    await row('inner').getByRole('link').click();
    await row('deep').getByRole('link').click();
    await row('c.txt').waitFor();
    // The keys go on at the folder that was opened.
    await page.goBack();
    await row('deep').waitFor();
    await expect.poll(active).toEqual(['deep']);
    await page.goBack();
    await expect.poll(chosen).toEqual(['a.txt', 'b.txt']);
    expect(await active()).toEqual(['inner']);
  });

  test('entries stand in groups with headings that stay, which keys reach and a press chooses; the choice is remembered', async () => {
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`note ${index + 10}.txt`, '']));
    const { disk } = await openFolder('grouped', { ...many, 'a.png': '', 'b.png': '', 'inner/x.txt': '' });
    await utimes(join(disk, 'note 49.txt'), new Date('2024-02-29T12:00:00Z'), new Date('2024-02-29T12:00:00Z'));
    const headings = () => page.getByRole('rowheader').allTextContents();
    const group = async (by: string) => {
      await page.getByRole('button', { name: /^Shown as/ }).press('Enter');
      await page.getByRole('menuitemradio', { name: by, exact: true }).press('Enter');
    };
    await group('Kind');
    await expect.poll(headings).toEqual(['Folders 1 item', 'Pictures 2 items', 'Texts 40 items']);
    await page.getByRole('grid').focus();
    await expectAccessible(page);
    await page.keyboard.press('Home');
    await page.keyboard.press('Alt+PageDown');
    expect(await active()).toEqual(['a.png']);
    await page.getByRole('status').filter({ hasText: 'Pictures' }).waitFor();
    await page.keyboard.press('Alt+PageDown');
    await page.keyboard.press('ArrowUp');
    expect(await active()).toEqual(['b.png']);
    // What follows a heading in the list is the next row for those who hear it.
    expect(await row('b.png').getAttribute('aria-rowindex')).toBe('5');
    await page.getByRole('rowheader').getByText('Pictures').click();
    expect(await chosen()).toEqual(['a.png', 'b.png']);
    await page.keyboard.press('End');
    const stuck = () => page.locator('.group-stuck .group-head').boundingBox();
    await expect.poll(() => page.locator('.group-stuck').textContent()).toBe('Texts 40 items');
    expect((await stuck())?.y).toBe((await page.getByRole('grid').boundingBox())?.y);
    // The row is not below the heading.
    for (let step = 0; step < 20; step += 1) await page.keyboard.press('ArrowUp');
    const below = async () => ((await page.locator('.is-active').boundingBox())?.y ?? 0) - ((await stuck())?.y ?? 0);
    await expect.poll(below).toBe(36);

    await page.reload();
    await expect.poll(headings).toEqual(['Folders 1 item', 'Pictures 2 items', 'Texts 40 items']);
    await group('Month of change');
    await page.getByRole('button', { name: 'Sort by Modified' }).click();
    await page.getByRole('button', { name: 'Sorted by Modified, descending' }).click();
    await expect.poll(async () => (await headings())[0]).toBe('February 2024 1 item');
    await group('First letter');
    await expect.poll(headings).toEqual(['A 1 item', 'B 1 item', 'I 1 item', 'N 40 items']);

    // In tiles, the next line may be one of another group.
    await group('Kind');
    await group('Tiles');
    await page.getByRole('grid').focus();
    await page.keyboard.press('Home');
    for (const name of ['a.png', 'note 49.txt']) {
      await page.keyboard.press('ArrowDown');
      expect(await active()).toEqual([name]);
    }
    await group('Nothing');
    await expect.poll(headings).toEqual([]);
    await page.reload();
    await page.getByRole('button', { name: 'Sorted by Modified, ascending' }).waitFor();
    expect(await headings()).toEqual([]);
  });

  test('a new text is made, written and kept', async () => {
    const { disk } = await openFolder('written', { 'there.txt': 'there' });
    const make = async (name: string) => {
      await page.getByRole('button', { name: 'New', exact: true }).click();
      await page.getByRole('menuitem', { name: 'New text file' }).click();
      await page.getByRole('textbox', { name: 'Name' }).fill(name);
      await page.keyboard.press('Enter');
    };
    await make('there.txt');
    await page.getByText('There is something of this name already.').waitFor();
    expect(await readFile(join(disk, 'there.txt'), 'utf8')).toBe('there');
    await make('list.ts');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.locator('.code-field .cm-content').click();
    await page.keyboard.type('// Milk');
    await page.keyboard.press('Control+s');
    await page.getByText('All is saved').waitFor();
    expect(await readFile(join(disk, 'list.ts'), 'utf8')).toBe('// Milk');
  });

  test('a file that is dragged out is stored where it is dropped; the middle button opens a tab; the page can be installed', async () => {
    const folder = await openFolder('out', { 'two words: ü.txt': 'the text', 'inner/b.txt': 'b' });
    const dragged = (await page.evaluate(`(() => {
      const data = new DataTransfer();
      const cell = [...document.querySelectorAll('.cell')].find((each) => each.textContent.includes('two words'));
      cell.dispatchEvent(new DragEvent('dragstart', { bubbles: true, dataTransfer: data }));
      return data.getData('DownloadURL');
    })()`)) as string;
    const [, name = '', address = ''] = /^application\/octet-stream:([^:]*):(.*)$/.exec(dragged) ?? [];
    expect(name).toBe('two words_ ü.txt');
    expect(await (await context.request.get(address)).text()).toBe('the text');

    const tab = context.waitForEvent('page');
    await row('inner').getByRole('link', { name: 'inner' }).click({ button: 'middle' });
    const opened = await tab;
    await opened.getByRole('link', { name: 'b.txt' }).waitFor();
    expect([new URL(opened.url()).pathname, new URL(page.url()).pathname]).toEqual([`${folder.path}/inner`, folder.path]);

    const devtools = await context.newCDPSession(page);
    const { errors } = await devtools.send('Page.getAppManifest');
    expect(errors).toEqual([]);
    const { installabilityErrors } = await devtools.send('Page.getInstallabilityErrors');
    // A browser of a test keeps nothing.
    expect(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito')).toEqual([]);
  });

  test('the details say who may see a file, by which rule; rows stand closer where that is chosen', async () => {
    const { path } = await openFolder('details', { 'a.txt': 'a', 'b.txt': 'b' });
    const { name } = await world.person('outsider');
    const { data } = await world.admin.get('/api/admin/user/list');
    const admin = (data as { content: { id: number; username: string }[] }).content.find(({ username }) => username === 'admin');
    await world.admin.call('/api/admin/meta/create', { path, read_users: [admin?.id], read_users_sub: true });
    await row('a.txt').click();
    await page.getByRole('button', { name: 'Details' }).click();
    const pane = page.getByRole('complementary', { name: 'Details' });
    await pane.getByRole('listitem').filter({ hasText: name }).getByText(`not a reader of ${path}`).waitFor();
    await pane
      .getByRole('listitem')
      .filter({ hasText: 'admin' })
      .getByText(/is the admin|rule at/)
      .waitFor();
    await expectAccessible(page);
    const height = async () => (await row('a.txt').boundingBox())?.height;
    expect(await height()).toBe(44);
    await page.getByRole('button', { name: 'Shown as: List' }).click();
    await page.getByRole('menuitemradio', { name: 'Dense rows' }).click();
    await expect.poll(height).toBe(32);
    await expectAccessible(page);
  });

  test('every body of an upload is a plain buffer: Safari never ends one that is a slice of a file', async () => {
    const folder = await world.folder('bodies');
    await show('/@account');
    await page.addInitScript(WATCH_BODIES);
    await page.route('**/part-worker*.js', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: `${WATCH_BODIES}\n${await response.text()}` });
    });
    await page.goto(world.base + folder.path);
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Upload files' }).click();
    await (await chooser).setFiles([
      { name: 'small.txt', mimeType: 'text/plain', buffer: Buffer.from('small') },
      { name: 'parts.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(20 * 1024 * 1024, 5) },
    ]);
    await page.getByText('2 files uploaded').waitFor();
    const bodies = (await page.evaluate('sentBodies')) as string[];
    expect(bodies.length).toBeGreaterThan(3);
    expect(new Set(bodies)).toEqual(new Set(['[object ArrayBuffer]']));
    expect((await readFile(join(folder.disk, 'parts.bin'))).equals(Buffer.alloc(20 * 1024 * 1024, 5))).toBe(true);
  });
});
