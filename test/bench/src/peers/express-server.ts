// Express 5 by itself: what an answer costs before Wharf has done anything.
import type { AddressInfo } from 'node:net';
import express from 'express';

const answers = new Map<string, unknown>();
const app = express();
app.get('/ping', (_request, response) => void response.type('text/plain').send('pong'));
app.get('/json/:name', (request, response) => void response.json(answers.get(request.params.name)));
app.put('/json/:name', express.json({ limit: '1gb' }), (request, response) => {
  answers.set(request.params.name, request.body);
  response.sendStatus(204);
});
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(`ready http://127.0.0.1:${port}`);
});
