/** The only SQL. */

/** True when the database answers and its migrations have been applied. */
export async function isDatabaseUp(database: D1Database): Promise<boolean> {
  try {
    return (
      (await database.prepare("SELECT max(version) AS version FROM schema_version").first("version")) !== null
    );
  } catch {
    return false;
  }
}
