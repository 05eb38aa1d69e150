import { statement, type MySqlConnection } from "./mysql-driver.ts";

/**
 * Runs statements in a transaction of their own, in a session with autocommit off. First rolls back what a user of the pool left
 * uncommitted on the connection. Otherwise that would be committed here, and could hide what other sessions wrote.
 */
export async function inOwnTransaction<T>(connection: MySqlConnection, act: () => Promise<T>): Promise<T> {
  await connection.query(statement("ROLLBACK", []));
  try {
    const result = await act();
    await connection.query(statement("COMMIT", []));
    return result;
  } catch (error) {
    // Without the rollback the transaction's locks would stay on the connection after it went back to the pool.
    await connection.query(statement("ROLLBACK", []));
    throw error;
  }
}
