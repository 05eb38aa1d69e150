import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nodeExecutable } from "@leasehold/test-kit/processes/owned-process";

/** The parts of a template that tests read. */
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

  /**
   * @param name of a folder that no other test has. The folder is below node_modules, so that a bundle finds the AWS SDK as on
   * Lambda.
   */
  static async synthesize(name: string): Promise<SynthesizedApp> {
    const folder = fileURLToPath(
      new URL(`../../../node_modules/.cache/leasehold-infra-aws/${name}-${process.pid}`, import.meta.url),
    );
    const app = fileURLToPath(new URL("../bin/app.ts", import.meta.url));
    // Send requests to AWS to a proxy that does not exist.
    const nowhere = "http://127.0.0.1:9";
    const env = { ...process.env, CDK_OUTDIR: folder, HTTPS_PROXY: nowhere, HTTP_PROXY: nowhere, AWS_REGION: undefined };
    await promisify(execFile)(nodeExecutable(), ["--conditions=@leasehold/source", app], { env });
    return new SynthesizedApp(folder);
  }

  /** Returns the path of a stack's template. */
  templatePath(stack: string): string {
    return join(this.#folder, `${stack}.template.json`);
  }

  async template(stack: string): Promise<Template> {
    return JSON.parse(await readFile(this.templatePath(stack), "utf8")) as Template;
  }

  /** Returns the folder with the code of a stack's one function. */
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
