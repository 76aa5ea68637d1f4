import {
  Activity,
  ArrowDownToLine,
  Database,
  FileKey,
  Fingerprint,
  HardDrive,
  History,
  type IconNode,
  KeyRound,
  MonitorSmartphone,
  Search,
  Settings,
  ShieldCheck,
  UserRound,
  Users,
} from 'lucide';
import type { MessageKey } from './i18n/i18n.ts';
import type { Area } from './router.ts';

interface Section {
  /** What its address ends with; empty: the page that the area begins with. */
  readonly id: string;
  readonly icon: IconNode;
  readonly label: MessageKey;
}

/** The pages of each area, as the sidebar lists them. */
export const SECTIONS: Readonly<Record<Area, readonly Section[]>> = {
  account: [
    { id: '', icon: UserRound, label: 'profile' },
    { id: 'two-step', icon: Fingerprint, label: 'twoStep' },
    { id: 'app-passwords', icon: KeyRound, label: 'appPasswords' },
    { id: 'ssh-keys', icon: FileKey, label: 'sshKeys' },
    { id: 'sessions', icon: MonitorSmartphone, label: 'sessions' },
  ],
  admin: [
    { id: '', icon: Activity, label: 'overview' },
    { id: 'storages', icon: HardDrive, label: 'storages' },
    { id: 'users', icon: Users, label: 'users' },
    { id: 'rules', icon: ShieldCheck, label: 'rules' },
    { id: 'settings', icon: Settings, label: 'settings' },
    { id: 'downloads', icon: ArrowDownToLine, label: 'downloadTools' },
    { id: 'search', icon: Search, label: 'searchIndex' },
    { id: 'audit', icon: History, label: 'audit' },
    { id: 'backup', icon: Database, label: 'backup' },
  ],
};
