import { readFileSync } from "node:fs";

/** A file of the dashboard. */
export interface PageFile {
  readonly type: string;
  readonly body: string;
}

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
};

/** Returns the files of the dashboard by their paths; read once, and as they are shipped: there is no build step. */
export function pageFiles(): ReadonlyMap<string, PageFile> {
  const entries = ["dashboard.html", "dashboard.css", "dashboard.js"].map((name): readonly [string, PageFile] => {
    const [, extension = ""] = name.split(".");
    const body = readFileSync(new URL(`../../page/${name}`, import.meta.url), "utf8");
    return [`/${name}`, { type: TYPES[extension] ?? "text/plain", body }];
  });
  return new Map(entries);
}
