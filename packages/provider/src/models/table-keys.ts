/** A date or `latest` at the end of a model id is a version of the same model. */
const version = /[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/

/** Returns the keys under which a table may have a model, the exact name first. */
export function tableKeys(model: string): readonly string[] {
  const name = model.startsWith('gateway/') ? model.slice('gateway/'.length) : model
  const plain = name.replace(version, '')
  return [model, name, plain, plain.replaceAll('.', '-')]
}
