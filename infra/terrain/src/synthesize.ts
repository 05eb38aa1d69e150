import { AnnotationMetadataEntryType, type App } from "cdktn";

const WARNING: string = AnnotationMetadataEntryType.WARN;

/**
 * Writes an app's stacks, and its warnings to standard error. Without the command line of CDK Terrain no other program shows
 * them.
 */
export function synthesize(app: App): void {
  app.synth();
  for (const construct of app.node.findAll()) {
    for (const { type, data } of construct.node.metadata) {
      if (type === WARNING) console.warn(`Warning at ${construct.node.path}: ${String(data)}`);
    }
  }
}
