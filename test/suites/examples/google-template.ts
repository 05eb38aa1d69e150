import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { nodeExecutable } from "@leasehold/test-kit/processes/owned-process";

/** A container that the stack of infra/gcp starts, with exactly the command and the variables of its template. */
export interface DeployedContainer {
  readonly command: [string, ...string[]] | undefined;
  readonly env: Readonly<Record<string, string>>;
}

interface Container {
  readonly command?: [string, ...string[]];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

interface CloudRun {
  readonly location: string;
  readonly template: {
    readonly containers: readonly Container[];
  };
}

interface Template {
  readonly resource: {
    readonly google_firestore_database: Readonly<Record<string, { readonly name: string }>>;
  } & Readonly<Record<string, Readonly<Record<string, CloudRun>>>>;
}

const app = join(import.meta.dirname, "../../../infra/gcp/bin/app.ts");

/** The stack of infra/gcp, synthesized, with values for its variables. */
export class GoogleTemplate {
  readonly #template: Template;

  private constructor(template: Template) {
    this.#template = template;
  }

  static async synthesize(folder: string, variables: Readonly<Record<string, string>>): Promise<GoogleTemplate> {
    const CDKTF_OUTDIR = join(folder, "cdktf.out");
    await promisify(execFile)(nodeExecutable(), ["--conditions=@leasehold/source", app], {
      env: { ...process.env, CDKTF_OUTDIR },
    });
    const text = await readFile(join(CDKTF_OUTDIR, "stacks/leasehold/cdk.tf.json"), "utf8");
    return new GoogleTemplate(
      JSON.parse(text.replaceAll(/\$\{var\.(\w+)\}/g, (whole, name: string) => variables[name] ?? whole)) as Template,
    );
  }

  /** The ids of the databases that it makes. */
  get databases(): string[] {
    return Object.values(this.#template.resource.google_firestore_database).map(({ name }) => name);
  }

  /** Returns the container of the only resource of a type, or of the one in a region. */
  container(type: `google_cloud_run_v2_${"service" | "worker_pool"}`, location?: string): DeployedContainer {
    const found = Object.values(this.#template.resource[type] ?? {}).filter((each) => !location || each.location === location);
    const [container] = found[0]?.template.containers ?? [];
    if (found.length !== 1 || !container) throw new Error(`There are ${found.length} of ${type} in ${location ?? "any region"}.`);
    return { command: container.command, env: Object.fromEntries(container.env.map(({ name, value }) => [name, value])) };
  }
}
