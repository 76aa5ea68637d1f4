/** The usual PATH_MAX of servers: what is deeper cannot be, or a hostile server makes it up. */
export const MAX_PLACE_LENGTH = 4096;

/** What leads into this folder and nowhere else. Names that no path of ours can say go with their folder. */
export function isOneName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name);
}

export function childPlace(place: string, name: string): string {
  return place === '/' ? `/${name}` : `${place}/${name}`;
}
