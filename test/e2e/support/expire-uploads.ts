import mongoose from 'mongoose';

/** Makes all unfinished uploads as old as nobody waits for, as if a day had passed. @param url of the store */
export async function expireUploads(url: string): Promise<void> {
  const connection = await mongoose.createConnection(url).asPromise();
  try {
    await connection.db?.collection('write_sessions').updateMany({}, { $set: { expires_at: new Date(0) } });
  } finally {
    await connection.close();
  }
}
