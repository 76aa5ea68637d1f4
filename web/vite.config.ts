import { defineConfig, type Plugin } from 'vite';
import solid from 'vite-plugin-solid';

/**
 * Solid makes its elements from templates, by innerHTML. Those texts are constants of this build, so they are the ones that the page's policy of
 * Trusted Types lets through; nothing else in the page may.
 */
function trustTemplates(): Plugin {
  const assignment = 't.innerHTML = html;';
  return {
    name: 'trust-templates',
    transform(code, id) {
      if (!/solid-js\/web\/dist\/\w+\.js/.test(id) || !code.includes(assignment)) return undefined;
      const policy = `const templates = globalThis.trustedTypes?.createPolicy('wharf-templates', { createHTML: (html) => html });\n`;
      return { code: policy + code.replace(assignment, 't.innerHTML = templates ? templates.createHTML(html) : html;'), map: null };
    },
  };
}

export default defineConfig({
  plugins: [solid(), trustTemplates()],
  build: {
    target: 'es2023',
    // Everything comes from files of our own: the page's policy allows no data: for scripts, styles and fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: Object.fromEntries(['/api', '/d', '/p', '/ping', '/favicon.svg'].map((path) => [path, 'http://127.0.0.1:5244'])) },
});
