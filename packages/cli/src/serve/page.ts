import { readFileSync } from "node:fs";

/** A file of the dashboard. */
export interface PageFile {
  readonly type: string;
  readonly body: string;
}

const TYPES: Readonly<Record<string, string>> = {
  "dashboard.html": "text/html; charset=utf-8",
  "dashboard.css": "text/css; charset=utf-8",
  "dashboard.js": "text/javascript; charset=utf-8",
  "elements.js": "text/javascript; charset=utf-8",
  "fleets.js": "text/javascript; charset=utf-8",
};

/** Reads the files of the dashboard, and returns them by their paths. They are served as they are: there is no build step. */
export function pageFiles(): ReadonlyMap<string, PageFile> {
  const entries = Object.entries(TYPES).map(([name, type]): readonly [string, PageFile] => {
    const body = readFileSync(new URL(`../../page/${name}`, import.meta.url), "utf8");
    return [`/${name}`, { type, body }];
  });
  return new Map(entries);
}
