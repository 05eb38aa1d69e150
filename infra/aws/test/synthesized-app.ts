import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nodeExecutable } from "@leasehold/test-kit/processes/owned-process";

/** A template, as far as tests look into it. */
export interface Template {
  readonly Resources: Readonly<Record<string, { readonly Type: string; readonly Properties: Readonly<Record<string, unknown>> }>>;
  readonly Outputs?: unknown;
}

/** The app as `npm run synth` writes it, in a folder of its own. */
export class SynthesizedApp implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** @param name of a folder that no other test has. It is below node_modules, so that what is bundled finds the AWS SDK as it does on Lambda. */
  static async synthesize(name: string): Promise<SynthesizedApp> {
    const folder = fileURLToPath(
      new URL(`../../../node_modules/.cache/leasehold-infra-aws/${name}-${process.pid}`, import.meta.url),
    );
    const app = fileURLToPath(new URL("../bin/app.ts", import.meta.url));
    // What the app would reach of AWS would be reached by a proxy that is not there.
    const nowhere = "http://127.0.0.1:9";
    const env = { ...process.env, CDK_OUTDIR: folder, HTTPS_PROXY: nowhere, HTTP_PROXY: nowhere, AWS_REGION: undefined };
    await promisify(execFile)(nodeExecutable(), ["--conditions=@leasehold/source", app], { env });
    return new SynthesizedApp(folder);
  }

  /** Where a stack's template is. */
  templatePath(stack: string): string {
    return join(this.#folder, `${stack}.template.json`);
  }

  async template(stack: string): Promise<Template> {
    return JSON.parse(await readFile(this.templatePath(stack), "utf8")) as Template;
  }

  /** The folder of the code of a stack's one function. */
  async functionCode(stack: string): Promise<string> {
    const { files } = JSON.parse(await readFile(join(this.#folder, `${stack}.assets.json`), "utf8")) as {
      readonly files: Readonly<Record<string, { readonly source: { readonly path: string; readonly packaging: string } }>>;
    };
    const zips = Object.values(files).filter(({ source }) => source.packaging === "zip");
    if (zips.length !== 1 || !zips[0]) throw new Error(`${stack} has ${zips.length} bundles.`);
    return join(this.#folder, zips[0].source.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
