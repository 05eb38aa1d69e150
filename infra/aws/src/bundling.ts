import { OutputFormat, type BundlingOptions } from "aws-cdk-lib/aws-lambda-nodejs";

/** CommonJS packages call `require`, which an ES module does not have. */
export const REQUIRE_BANNER =
  "import { createRequire as createBundleRequire } from 'node:module'; const require = createBundleRequire(import.meta.url);";

/** Returns the options of a function's bundle: an ES module that can hold CommonJS packages, and a source map without sources. */
export function functionBundling(own: BundlingOptions = {}): BundlingOptions {
  const format = own.format ?? OutputFormat.ESM;
  const banners = [format === OutputFormat.ESM ? REQUIRE_BANNER : "", own.banner ?? ""].filter((banner) => banner !== "");
  return {
    target: "node24",
    sourceMap: true,
    sourcesContent: false,
    ...own,
    format,
    ...(banners.length > 0 ? { banner: banners.join("\n") } : {}),
  };
}
