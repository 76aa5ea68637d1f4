import { startEmbeddedNats } from '@wharf/embedded-nats';
import { describeBus } from './bus.suite.ts';

describeBus({
  name: 'the embedded bus',
  async start() {
    const token = 'a token with "quotes" and ümlauts';
    let running = await startEmbeddedNats({ token });
    const { url } = running;
    return {
      url,
      token,
      stop: () => running.stop(),
      async restart() {
        await running.stop();
        running = await startEmbeddedNats({ token, port: Number(new URL(url).port) });
      },
    };
  },
});
