/** How a picture lies on its stage: how much larger than it fits, and how far its middle is from the stage's, in pixels. */
export interface Zoom {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** The whole picture, in the middle. */
export const FITTED: Zoom = { scale: 1, x: 0, y: 0 };
/** Beside it, a picture that has few pixels is worth no more. */
const MOST = 8;

/** How far a picture can be made larger: to four times its own pixels, and always some. @param fitted its size where it fits. */
export function mostScale(own: Size, fitted: Size): number {
  return Math.max(MOST, fitted.width > 0 ? (4 * own.width) / fitted.width : 0);
}

/** Makes the picture `factor` times larger; what is at `point`, seen from the middle of the stage, stays there. */
export function zoomAt(zoom: Zoom, factor: number, point: Point, most: number): Zoom {
  const scale = Math.min(Math.max(zoom.scale * factor, 1), most);
  const grown = scale / zoom.scale;
  return { scale, x: point.x - grown * (point.x - zoom.x), y: point.y - grown * (point.y - zoom.y) };
}

/** Leaves no gap between the picture and the stage on one side while it is cut on the other. */
export function keepOnStage(zoom: Zoom, fitted: Size, stage: Size): Zoom {
  const within = (offset: number, picture: number, room: number) => {
    const most = Math.max(0, (picture * zoom.scale - room) / 2);
    return Math.min(Math.max(offset, -most), most);
  };
  return { scale: zoom.scale, x: within(zoom.x, fitted.width, stage.width), y: within(zoom.y, fitted.height, stage.height) };
}
