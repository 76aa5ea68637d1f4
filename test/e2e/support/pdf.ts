/** A PDF file with a line of text on each page, in a font that it does not bring. */
export function pdfOf(lines: readonly string[]): string {
  const pages = lines.map((_, index) => `${4 + index * 2} 0 R`);
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pages.join(' ')}] /Count ${lines.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...lines.flatMap((line, index) => {
      const drawn = `BT /F 48 Tf 40 500 Td (${line}) Tj ET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 3 0 R >> >> /Contents ${5 + index * 2} 0 R >>`,
        `<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`,
      ];
    }),
  ];
  let text = '%PDF-1.7\n';
  const offsets = objects.map((object, index) => {
    const at = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const table = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
  const end = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
  return `${text}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}${end}`;
}

/**
 * A PDF of some 2 KB that has ten to the power of `levels` pages: each level of its tree names two below it ten times in all. The last one of each is another
 * one than the rest, or it would be taken for a circle.
 */
export function crowdedPdf(levels: number): string {
  const first = (level: number) => 2 + level * 2;
  const kids = (level: number) => `${`${first(level)} 0 R `.repeat(9)}${first(level) + 1} 0 R`;
  const nodes = Array.from(
    { length: levels },
    (_, level) => `<< /Type /Pages /Count ${10 ** (levels - level)} /Kids [${kids(level + 1)}] >>`,
  );
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    ...[...nodes, '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] >>'].flatMap((node) => [node, node]),
  ];
  // Readers look for the objects themselves where there is no table of them.
  const text = objects.map((object, index) => `${index + 1} 0 obj\n${object}\nendobj\n`).join('');
  return `%PDF-1.7\n${text}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\n%%EOF\n`;
}
