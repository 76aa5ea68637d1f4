import type { SmbSettings } from './config.ts';
import type { RcloneSettings } from './driver.ts';
import { openRelay } from './relay.ts';
import { relayedWay } from './ways.ts';

/** An SMB server as rclone's type `smb`. */
export function smbStorage({ host, port, username, domain, password, share, root, rootPath }: SmbSettings): RcloneSettings {
  const parametersFor = (at: string, atPort: string) => ({
    host: at,
    port: atPort,
    user: username,
    pass: password,
    ...(domain !== undefined && { domain }),
    // What is spelled otherwise is another name to rclone; what it is to the server is tried out.
    case_insensitive: 'false',
  });
  const place = [share, ...root].join('/');
  return {
    places: { root: place, space: place },
    rootPath,
    locksOpenFiles: true,
    movesByRename: true,
    readsPieceByPiece: true,
    refusedCharacters: DELETE,
    openWay: ({ egress }) =>
      relayedWay(
        () => openRelay((signal) => egress.connect({ host, port, signal })),
        (at, atPort) => ({ type: 'smb', parameters: parametersFor(at, atPort) }),
      ),
  };
}

/** rclone shows it as another character. Other control characters are in no path. */
const DELETE = '\u007f';
