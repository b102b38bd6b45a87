/** Where a page is served. */
interface Place {
  /** Path of the page, such as `/agents/console`. */
  readonly mount: string
  /** What precedes the server's own paths, such as `/agents`. */
  readonly prefix: string
  readonly nonce: string
}

/** Returns `index.html` for its place. It was built with addresses relative to itself, which a link to a view breaks. */
export function htmlOf(html: string, { mount, prefix, nonce }: Place): string {
  const [at, before, one] = [mount, prefix, nonce].map(attribute)
  return html
    .replaceAll('"./assets/', `"${at}/assets/`)
    .replace('<html', `<html data-mount="${at}" data-prefix="${before}" data-nonce="${one}"`)
}

function attribute(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}

/** The page of a server whose console is not installed. */
export const missingPage: string = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The console is not installed</title>
<h1>The console is not installed</h1>
<p>This server has the option <code>console</code>, but cannot import the package of the page. Install it beside the server, and start the server again:</p>
<pre>npm install @provost/console</pre>
<p>Where the server is part of a bundle, import the package yourself: <code>createServer({ console: { page } })</code>.</p>
<p>In a checkout of the repository, build it first: <code>pnpm build</code>.</p>
</html>
`
