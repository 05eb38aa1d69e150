/** Names that some database might treat as equal. */
export const ODD_NAMES: readonly string[] = [
  "name",
  "Name",
  "NAME",
  "name ",
  "name  ",
  " name",
  "na me",
  "na\u00a0me",
  "caf\u00e9",
  "cafe\u0301",
  "cafe",
  "stra\u00dfe",
  "strasse",
  "\u212bngstrom",
  "\u00c5ngstrom",
  "ﬁ",
  "fi",
  "\u{1f980}",
  "\u{1f981}",
  "n%",
  "n_",
  "%",
  "_",
  "'",
  "''",
  '"',
  "`",
  "\\",
  "\\\\",
  "\\'",
  "$1",
  "?",
  ":name",
  "0",
  "00",
  "0.0",
  "null",
  "a\u200db",
  "ab",
  "a".repeat(255),
  "a".repeat(254),
  "é".repeat(127),
];

/** A name of a table that works only in quotes. The suite runs with it on the drivers that are not the default ones. */
export const ODD_TABLE = "Select-1";

/** Returns the statement about {@link ODD_TABLE} and its kin. @param start the text before each name, and its quote. */
export function onOddTables(sql: string, start: string, quote: '"' | "`"): string {
  return sql.replace(/leasehold(_\w+)/g, (_, ending: string) => {
    return `${start}${quote}${ODD_TABLE}${ending === "_leases" ? "" : ending}${quote}`;
  });
}
