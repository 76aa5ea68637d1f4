/** A little over the 400 pixels that clients expect: the library rounds down what its division leaves. */
const WIDTH = 400.001;

/** A data URL of a PNG of 400 by 400 pixels that shows a text as a QR code. */
export async function qrImage(text: string): Promise<string> {
  // Loaded by the few who set up two-step verification.
  const { toDataURL } = await import('qrcode');
  return toDataURL(text, { width: WIDTH, margin: 2, errorCorrectionLevel: 'M' });
}
