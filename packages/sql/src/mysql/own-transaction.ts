import { statement, type MySqlConnection } from "./mysql-pool.ts";

/**
 * Runs statements in a transaction of their own, in a session with autocommit off. What somebody had left uncommitted on
 * the connection before they gave it back is undone, so that it is neither committed here nor hides what others wrote.
 */
export async function inOwnTransaction<T>(connection: MySqlConnection, act: () => Promise<T>): Promise<T> {
  await connection.query(statement("ROLLBACK", []));
  try {
    const result = await act();
    await connection.query(statement("COMMIT", []));
    return result;
  } catch (error) {
    // Else its locks would outlast it, on a connection that goes back to the pool.
    await connection.query(statement("ROLLBACK", []));
    throw error;
  }
}
