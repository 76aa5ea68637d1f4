import { render } from 'solid-js/web';
import { App } from './app.tsx';
import { chooseFirstLanguage } from './i18n/i18n.ts';
import './look/tokens.css';
import './look/base.css';

addEventListener('keydown', () => document.documentElement.setAttribute('data-keys', ''), { capture: true, once: true });
// Where its texts cannot be fetched, the page has those that it brings along.
await chooseFirstLanguage().catch(() => undefined);
const page = document.querySelector('#page');
if (page) render(() => <App />, page);
