import {
  AppWindow,
  Archive,
  FileCode,
  File as FileIcon,
  FileSpreadsheet,
  FileText,
  Film,
  Folder,
  type IconNode,
  Image,
  Music,
  Presentation,
  Type,
} from 'lucide';
import type { JSX } from 'solid-js';
import { Icon } from '../parts/icon.tsx';
import { type FileKind, kindOf } from './file-kind.ts';
import './kind-icon.css';

const ICONS: Readonly<Record<FileKind, IconNode>> = {
  folder: Folder,
  image: Image,
  video: Film,
  audio: Music,
  text: FileText,
  code: FileCode,
  markdown: FileText,
  pdf: FileText,
  archive: Archive,
  document: FileText,
  table: FileSpreadsheet,
  slides: Presentation,
  font: Type,
  program: AppWindow,
  file: FileIcon,
};

/** What a file is, at a glance. */
export function KindIcon(props: { entry: { name: string; is_dir: boolean }; size?: number }): JSX.Element {
  return (
    <span class={`kind-icon is-${kindOf(props.entry)}`}>
      <Icon of={ICONS[kindOf(props.entry)]} size={props.size ?? 20} />
    </span>
  );
}
