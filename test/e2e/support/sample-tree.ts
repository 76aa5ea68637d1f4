import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';

const README = `# Summer at the lake

Photos, plans and the **booking** for July. Please put new photos into [Photos](Photos), one folder for each day.

| who | brings |
| --- | --- |
| Mira | tent, stove |
| Jonas | boat |
`;

/** Files as somebody may have them, for pictures of the page and for its tests. */
const TEXTS: Readonly<Record<string, string>> = {
  'Summer/Plan.md': README,
  'Summer/Budget 2026.csv': 'what,amount\ntent,220\nboat,640\n',
  'Summer/packing-list.txt': 'Tent\nStove\nWarm clothes\nTorch\n',
  'Summer/route.gpx.xml': '<?xml version="1.0"?>\n<gpx><trk/></gpx>\n',
  'Music/01 Overture.mp3': 'x'.repeat(4_200_000),
  'Projects/gateway/server.ts':
    "import { createServer } from 'node:http';\n\ncreateServer((_, response) => response.end('hello\\n')).listen(8080);\n",
  'Projects/gateway/package.json': '{\n  "name": "gateway",\n  "private": true\n}\n',
  'Backups/2026-10.tar.gz': 'x'.repeat(9_800_000),
  'Videos/lake.mp4': 'x'.repeat(2_400_000),
  'Contract.pdf': 'x'.repeat(310_000),
  'Invoice 2026-104.pdf': 'x'.repeat(88_000),
  'Recipes.md': '# Recipes\n\n- Bread\n- Soup\n',
  'House plan.odt': 'x'.repeat(64_000),
  'notes.txt': 'Call the plumber.\n',
};

const FIRST_DAY = Date.UTC(2026, 5, 3, 8);
const DAY_MS = 86_400_000;

/** Writes the tree below `folder`. Its times are always the same. */
export function writeSampleTree(folder: string): void {
  let count = 0;
  const write = (path: string, content: string | Buffer) => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    const time = new Date(FIRST_DAY + count * 5.3 * DAY_MS);
    utimesSync(file, time, time);
    count += 1;
  };
  for (const [path, text] of Object.entries(TEXTS)) write(path, text);
  for (let index = 1; index <= 18; index += 1) write(`Summer/Photos/IMG_${2_100 + index * 7}.png`, picture(720, 540, index));
}

/** A landscape of a sky, hills and water, as a PNG of 8 bits for each colour. */
function picture(width: number, height: number, seed: number): Buffer {
  const hue = (seed * 47) % 360;
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const hill = height * (0.55 + 0.12 * Math.sin(x / (68 + 2 * seed) + seed) + 0.05 * Math.sin(x / 26 + seed * 2));
      const water = height * 0.78;
      const [shade, colour] =
        y > water
          ? [0.45 + (y - water) / height, hue + 20]
          : y > hill
            ? [0.28 + (y - hill) / height / 2, hue + 110]
            : [0.95 - y / height / 1.6, hue];
      for (const [channel, value] of rgb(colour, shade).entries()) rows[y * (1 + width * 3) + 1 + x * 3 + channel] = value;
    }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
}

function rgb(hue: number, shade: number): number[] {
  return [0, 120, 240].map((turn) =>
    Math.round(Math.min(1, Math.max(0, shade * (0.72 + 0.28 * Math.cos(((hue - turn) * Math.PI) / 180)))) * 255),
  );
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}
