import { accountReads, makeIndexes, modelsOf, readUserIds } from '@wharf/models';
import { AdminServiceDefinition } from '@wharf/proto/admin';
import {
  createBehindOthers,
  createLoginsOfNow,
  createOneByOne,
  defineRpcService,
  forAdmins,
  forServices,
  type Service,
  type ServiceKit,
  unseal,
} from '@wharf/service-kit';
import { createRule } from './api/create-rule.ts';
import { createStorage } from './api/create-storage.ts';
import { deleteRule } from './api/delete-rule.ts';
import { deleteSetting } from './api/delete-setting.ts';
import { deleteStorage } from './api/delete-storage.ts';
import { disableStorage } from './api/disable-storage.ts';
import { enableStorage } from './api/enable-storage.ts';
import { exportConfiguration } from './api/export-configuration.ts';
import { getRule } from './api/get-rule.ts';
import { getSettings } from './api/get-settings.ts';
import { getStorage } from './api/get-storage.ts';
import { importConfiguration } from './api/import-configuration.ts';
import { keepStorageItem } from './api/keep-storage-item.ts';
import { listDefaultSettings } from './api/list-default-settings.ts';
import { listRules } from './api/list-rules.ts';
import { listSettings } from './api/list-settings.ts';
import { listStorages } from './api/list-storages.ts';
import { reloadStorages } from './api/reload-storages.ts';
import { reportIndexProgress } from './api/report-index-progress.ts';
import { reportStorageStatus } from './api/report-storage-status.ts';
import { saveSettings } from './api/save-settings.ts';
import { setRpcDownloadTool, setTorrentTool, setTransmissionTool } from './api/set-tool.ts';
import { updateRule } from './api/update-rule.ts';
import { updateStorage } from './api/update-storage.ts';
import { createInRoom } from './api/write-in-room.ts';
import { createProbeTool } from './clients/download-tools.ts';
import { createFsClient } from './clients/fs.ts';
import { createPermanentToken } from './clients/permanent-token.ts';
import { createUsers } from './clients/users.ts';
import type { AdminConfig } from './config.ts';
import { deprecateUnknown, isSecret } from './domain/setting-items.ts';
import { createStorageStarter } from './domain/storage-starter.ts';
import { createConfigurationAnnouncer } from './events/announce-change.ts';
import { addFolderMounts } from './store/add-folder-mounts.ts';
import { createFirstStorage } from './store/configure-first-storage.ts';
import { createCounters } from './store/counters.ts';
import { createRuleStore } from './store/rule-store.ts';
import { createSettingStore } from './store/setting-store.ts';
import { createStorageStore } from './store/storage-store.ts';

/** Settings, storages and path rules: their only writer. */
export function createAdminService(config: AdminConfig, kit: ServiceKit): Service {
  const models = modelsOf(kit.store);
  const counters = createCounters(models);
  const settings = createSettingStore(models, kit.keys.atRest, isSecret);
  const storages = createStorageStore(models, kit.keys.atRest);
  const rules = createRuleStore(models, kit.keys.atRest);
  const announcer = createConfigurationAnnouncer(counters, kit.bus, (error) =>
    kit.logger.warn({ err: error }, 'a change of the configuration is not counted yet'),
  );
  const { announce: announceChange, counted } = announcer;
  const token = createPermanentToken(kit);
  const fs = createFsClient(kit);
  const starter = createStorageStarter({
    reload: fs.reloadStorage,
    writeOutcome: storages.writeOutcome,
    onError: (error) => kit.logger.error({ err: error }, 'the outcome of starting a storage was not kept'),
  });
  const { clock } = kit;
  const configuration = { settings, storages, rules, fs, users: createUsers(kit), clock };
  const firstStorage = createFirstStorage({
    storages,
    counters,
    folder: config.filesDir,
    driver: fs.folderDriver,
    clock,
    onConfigured: announceChange,
    onError: (error) => kit.logger.warn({ err: error }, 'the first storage is configured when fs is there'),
  });
  const findUsers = (ids: readonly number[]) => readUserIds(models, ids);
  /** Each of the first holds all storages or rules for a moment; an export waits for other services before that, and an import writes for as long as it takes. */
  const [reading, exporting, importing] = [createOneByOne(), createOneByOne(), createOneByOne()];
  const reads = accountReads(models, { unseal: (sealed) => unseal(kit.keys.atRest, sealed), clock });
  const loginOfNow = createLoginsOfNow(reads);
  const behindOthers = createBehindOthers(loginOfNow);
  const inRoom = createInRoom(storages, behindOthers, reading);
  const tools = { settings, probe: createProbeTool(kit), announceChange, loginOfNow };

  return {
    rpc: defineRpcService(AdminServiceDefinition, {
      listStorages: forAdmins(behindOthers.call(reading, listStorages(storages))),
      getStorage: forAdmins(getStorage(storages)),
      createStorage: forAdmins(counted(createStorage({ storages, counters, fs, starter, announceChange, clock, loginOfNow, inRoom }))),
      updateStorage: forAdmins(counted(updateStorage({ storages, starter, announceChange, clock, inRoom }))),
      deleteStorage: forAdmins(counted(deleteStorage(storages, starter, announceChange))),
      enableStorage: forAdmins(counted(enableStorage(storages, starter, announceChange))),
      disableStorage: forAdmins(counted(disableStorage(storages, starter, announceChange))),
      reloadStorages: forAdmins(counted(behindOthers.call(reading, reloadStorages(storages, starter, announceChange)))),
      reportStorageStatus: forServices(counted(reportStorageStatus(storages, announceChange))),
      keepStorageItem: forServices(counted(keepStorageItem(storages, announceChange))),
      reportIndexProgress: forServices(reportIndexProgress(settings)),
      listSettings: forAdmins(behindOthers.call(reading, listSettings(settings, token))),
      getSettings: forAdmins(behindOthers.call(reading, getSettings(settings, token))),
      listDefaultSettings: forAdmins(listDefaultSettings),
      saveSettings: forAdmins(counted(saveSettings({ settings, token, announceChange, fs, loginOfNow }))),
      deleteSetting: forAdmins(counted(deleteSetting(settings, announceChange))),
      setRpcDownloadTool: forAdmins(counted(setRpcDownloadTool(tools))),
      setTorrentTool: forAdmins(counted(setTorrentTool(tools))),
      setTransmissionTool: forAdmins(counted(setTransmissionTool(tools))),
      listRules: forAdmins(behindOthers.call(reading, listRules(rules))),
      getRule: forAdmins(behindOthers.call(reading, getRule(rules))),
      createRule: forAdmins(counted(behindOthers.call(reading, createRule(rules, counters, announceChange, findUsers)))),
      updateRule: forAdmins(counted(behindOthers.call(reading, updateRule(rules, announceChange, findUsers)))),
      deleteRule: forAdmins(counted(deleteRule(rules, announceChange))),
      exportConfiguration: forAdmins(behindOthers.stream(exporting, exportConfiguration(configuration, reading))),
      importConfiguration: forAdmins(
        counted(behindOthers.call(importing, importConfiguration({ ...configuration, counters, starter, announceChange }))),
      ),
    }),
    async start() {
      await Promise.all([makeIndexes(models.storages), makeIndexes(models.rules)]);
      await settings.change(deprecateUnknown);
      await rules.sealPasswords();
      await firstStorage.configure();
      if (config.mounts?.length)
        await addFolderMounts(storages, counters, { mounts: config.mounts, driver: await fs.folderDriver(), now: new Date(clock()) });
      // Covers a change that was written before a crash and never announced.
      await announceChange();
    },
    async stop() {
      firstStorage.stop();
      await starter.stop();
    },
  };
}
