import type { Values } from './item-values.ts';

/** What the form of a storage can begin with. */
export interface StorageTemplate {
  readonly name: string;
  /** Items of the driver. Words in capitals stand for what only the customer knows. */
  readonly values: Values;
}

type Style = 'host' | 'path';

/** Addresses, regions and styles as each vendor documents them; `REGION` becomes the region, which is one of many. */
const S3_VENDORS: readonly (readonly [name: string, endpoint: string, region: string, style: Style])[] = [
  ['Amazon S3', 'https://s3.REGION.amazonaws.com', 'us-east-1', 'host'],
  ['Akamai (Linode)', 'https://REGION.linodeobjects.com', 'us-east-1', 'host'],
  ['Alibaba Cloud OSS', 'https://REGION.aliyuncs.com', 'oss-cn-hangzhou', 'host'],
  ['Backblaze B2', 'https://s3.REGION.backblazeb2.com', 'us-west-004', 'path'],
  ['Ceph (your own)', 'https://HOST', '', 'path'],
  ['Cloudflare R2', 'https://ACCOUNT.r2.cloudflarestorage.com', 'auto', 'path'],
  ['Contabo', 'https://REGION.contabostorage.com', 'eu2', 'path'],
  ['DigitalOcean Spaces', 'https://REGION.digitaloceanspaces.com', 'nyc3', 'host'],
  ['Exoscale', 'https://sos-REGION.exo.io', 'ch-gva-2', 'path'],
  ['Garage (your own)', 'https://HOST', 'garage', 'path'],
  ['Google Cloud Storage', 'https://storage.googleapis.com', 'auto', 'path'],
  ['Hetzner', 'https://REGION.your-objectstorage.com', 'fsn1', 'host'],
  ['Huawei Cloud OBS', 'https://obs.REGION.myhuaweicloud.com', 'cn-north-4', 'host'],
  ['IBM Cloud', 'https://s3.REGION.cloud-object-storage.appdomain.cloud', 'us-south', 'path'],
  ['IDrive e2', 'https://ENDPOINT.idrivee2.com', '', 'path'],
  ['MinIO (your own)', 'https://HOST:9000', 'us-east-1', 'path'],
  ['Oracle Cloud', 'https://NAMESPACE.compat.objectstorage.REGION.oraclecloud.com', 'us-ashburn-1', 'path'],
  ['OVHcloud', 'https://s3.REGION.io.cloud.ovh.net', 'gra', 'host'],
  ['Scaleway', 'https://s3.REGION.scw.cloud', 'fr-par', 'host'],
  ['SeaweedFS (your own)', 'https://HOST:8333', '', 'path'],
  ['Storj', 'https://gateway.storjshare.io', 'us1', 'path'],
  ['Tencent COS', 'https://cos.REGION.myqcloud.com', 'ap-guangzhou', 'host'],
  ['Vultr', 'https://REGION.vultrobjects.com', 'ewr1', 'host'],
  ['Wasabi', 'https://s3.REGION.wasabisys.com', 'us-east-1', 'path'],
];

/** By the name of the driver. */
export const STORAGE_TEMPLATES: Readonly<Record<string, readonly StorageTemplate[]>> = {
  S3: S3_VENDORS.map(([name, endpoint, region, style]) => ({
    name,
    values: { endpoint: endpoint.replace('REGION', region), region, force_path_style: style === 'path', list_object_version: 'v2' },
  })),
};
