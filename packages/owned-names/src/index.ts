export { currentOwner, newOwnedName, OWNED_NAME, type OwnerState, ownerOf, type ProcessOwner } from './owned-names.ts';
