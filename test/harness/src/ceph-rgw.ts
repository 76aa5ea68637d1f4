import { randomBytes } from 'node:crypto';
import { type DebianSystem, ensureSystem, startInSystem } from './debian-system.ts';
import { freePort, onFreePort } from './free-port.ts';
import type { Missing } from './required.ts';
import { makeTempDir } from './temp-dir.ts';

/** An S3-compatible server that is not ours: the RADOS gateway on a Ceph of one monitor and one store, in memory or on the disk. */
export interface CephRgw {
  /** `http://127.0.0.1:<port>`, for path-style addresses. */
  readonly url: string;
  /** With `Host: <bucket>.<hostSuffix>` it serves virtual-host style too. No name server knows these names. */
  readonly hostSuffix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  /** Stops it where it is; its connections stay open. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Ends it; its data are gone. Safe to call twice. */
  stop(): Promise<void>;
}

const HOST_SUFFIX = 's3.localhost';
const DEFAULT_SIZE_BYTES = 2 * 1024 ** 3;
const READY_WITHIN_MS = 110_000;

const SYSTEM: DebianSystem = {
  name: 'Ceph RGW',
  folder: 'ceph-rgw-1',
  suite: 'trixie',
  packages: ['ceph-mon', 'ceph-osd', 'radosgw'],
};

/**
 * All of it listens on 127.0.0.1, and every part asks the others for a key. What is deleted or replaced may be collected after a minute, not two hours.
 */
const SERVE = `
set -euo pipefail
fsid=$(cat /proc/sys/kernel/random/uuid) osd=$(cat /proc/sys/kernel/random/uuid)
export CEPH_CONF=/tmp/ceph.conf
cat >$CEPH_CONF <<CONF
[global]
fsid = $fsid
mon_host = v2:127.0.0.1:$MON_PORT
mon_initial_members = a
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
auth_allow_insecure_global_id_reclaim = false
keyring = /tmp/keyring
run_dir = /tmp
admin_socket =
crash_dir = /tmp
log_file =
mon_cluster_log_file =
log_to_stderr = false
err_to_stderr = true
mon_data = /tmp/mon
osd_data = $OSD_DATA
rgw_data = /tmp/rgw
mon_allow_pool_size_one = true
mon_warn_on_pool_no_redundancy = false
mon_max_pg_per_osd = 1000
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
osd_objectstore = $OBJECT_STORE
memstore_device_bytes = $SIZE_BYTES
bluestore_block_create = true
bluestore_block_size = $SIZE_BYTES
bluestore_cache_autotune = false
bluestore_cache_size = 268435456
[client.rgw]
rgw_frontends = beast endpoint=127.0.0.1:$RGW_PORT
rgw_dns_name = ${HOST_SUFFIX}
rgw_thread_pool_size = 16
rgw_gc_obj_min_wait = 60
rgw_gc_processor_period = 30
CONF
cd /tmp
mkdir mon rgw $OSD_DATA
key() { ceph-authtool keyring --gen-key -n "$@" >/dev/null; }
ceph-authtool --create-keyring keyring --gen-key -n mon. --cap mon 'allow *' >/dev/null
key client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
key osd.0 --cap mon 'allow profile osd' --cap osd 'allow *'
key client.rgw --cap mon 'allow rw' --cap osd 'allow rwx'
monmaptool --create --addv a "[v2:127.0.0.1:$MON_PORT]" --fsid $fsid monmap >/dev/null
# Their own parts are found from here.
cd /
ceph-mon --mkfs -i a --monmap /tmp/monmap --keyring /tmp/keyring
ceph-mon -i a -f &
ceph auth import -i /tmp/keyring
ceph osd new $osd 0
ceph-osd -i 0 --mkfs --osd-uuid $osd
ceph-osd -i 0 -f &
radosgw-admin user create --uid tests --display-name Tests --access-key "$ACCESS_KEY_ID" --secret "$SECRET_ACCESS_KEY" >/dev/null
radosgw -n client.rgw -f &
until (: </dev/tcp/127.0.0.1/$RGW_PORT) 2>/dev/null; do kill -0 $!; sleep 0.1; done
echo 'the gateway answers'
wait -n
`;

/**
 * Starts the server on free ports of loopback; it is ready after about 15 seconds. The first call on a machine makes its system, which takes some
 * minutes and needs the permission to install. Only root on Debian can do either.
 *
 * @param sizeBytes what it stores at most; default 2 GiB. @param isOnDisk it is slower and leaves the memory to others; default false.
 */
export async function startCephRgw({
  sizeBytes = DEFAULT_SIZE_BYTES,
  isOnDisk = false,
}: {
  sizeBytes?: number;
  isOnDisk?: boolean;
} = {}): Promise<CephRgw | Missing> {
  const problem = await ensureSystem(SYSTEM);
  if (problem !== undefined) return problem;
  const accessKeyId = randomBytes(10).toString('hex').toUpperCase();
  const secretAccessKey = randomBytes(20).toString('hex');
  return onFreePort(async (port) => {
    const disk = isOnDisk ? await makeTempDir('ceph') : undefined;
    const running = await startInSystem(SYSTEM, {
      user: 'ceph',
      script: SERVE,
      settings: {
        MON_PORT: String(await freePort()),
        RGW_PORT: String(port),
        SIZE_BYTES: String(sizeBytes),
        ...(disk ? { OBJECT_STORE: 'bluestore', OSD_DATA: '/tmp/disk/osd' } : { OBJECT_STORE: 'memstore', OSD_DATA: '/tmp/osd' }),
        ACCESS_KEY_ID: accessKeyId,
        SECRET_ACCESS_KEY: secretAccessKey,
      },
      diskDir: disk?.path,
      readyLine: (line) => (line === 'the gateway answers' ? true : undefined),
      readyWithinMs: READY_WITHIN_MS,
    }).catch(async (error: unknown) => {
      await disk?.remove();
      throw error;
    });
    return {
      url: `http://127.0.0.1:${port}`,
      hostSuffix: HOST_SUFFIX,
      accessKeyId,
      secretAccessKey,
      region: 'us-east-1',
      pause: running.pause,
      resume: running.resume,
      async stop() {
        await running.stop();
        await disk?.remove();
      },
    };
  });
}
