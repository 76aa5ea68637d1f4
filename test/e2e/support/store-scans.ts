import mongoose from 'mongoose';

/** A kind of query that reads a whole collection: `<collection>: <the fields it asks about>`. */
export type Scan = string;

/** What the embedded store was asked for, since it was started, that no index narrows down. @param url of the store */
export async function storeScans(url: string): Promise<Scan[]> {
  const connection = await mongoose.createConnection(url).asPromise();
  try {
    const { scans = [] } = (await connection.db?.admin().command({ serverStatus: 1 })) ?? {};
    return (scans as { ns: string; fields: string }[]).map(({ ns, fields }) => `${ns.slice(ns.indexOf('.') + 1)}: ${fields}`).sort();
  } finally {
    await connection.close();
  }
}
