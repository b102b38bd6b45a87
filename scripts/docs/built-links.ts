import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Returns the targets of the links, pictures and scripts of a page of a built site. */
function targetsOf(html: string): ReadonlySet<string> {
  const found = html.matchAll(/<(?:a|img|link|script)\b[^>]*? (?:href|src)="([^"]+)"/gu)
  return new Set(Array.from(found, ([, target = '']) => decodeURI(target.replaceAll('&amp;', '&'))))
}

/** Returns the file of a built site that a path leads to; undefined for none. */
function fileAt(site: string, page: string, path: string): string | undefined {
  const place = path === '' ? page : path.startsWith('/') ? path.slice(1) : join(dirname(page), path)
  return [place, `${place}.html`, join(place, 'index.html')].find(
    (one) => one !== '' && /\.\w+$/u.test(one) && existsSync(join(site, one)),
  )
}

/** Returns the links and pictures of a built site that lead nowhere, as `page → target`. */
export function deadLinks(site: string): readonly string[] {
  const pages = globSync('**/*.html', { cwd: site }).toSorted((a, b) => a.localeCompare(b))
  const ids = new Map<string, ReadonlySet<string>>()
  const idsOf = (page: string): ReadonlySet<string> => {
    const known =
      ids.get(page) ??
      new Set([...readFileSync(join(site, page), 'utf8').matchAll(/ id="([^"]+)"/gu)].map(([, id = '']) => id))
    ids.set(page, known)
    return known
  }
  return pages.flatMap((page) =>
    [...targetsOf(readFileSync(join(site, page), 'utf8'))].flatMap((target) => {
      if (/^[\w+.-]+:/u.test(target)) return []
      const [path = '', anchor = ''] = target.split('#')
      const file = fileAt(site, page, path)
      const sound = file !== undefined && (anchor === '' || !file.endsWith('.html') || idsOf(file).has(anchor))
      return sound ? [] : [`${page} → ${target}`]
    }),
  )
}

/** Returns the pages of a built site that no other page links to. The first page needs no link. */
export function unlinkedPages(site: string): readonly string[] {
  const pages = globSync('**/*.html', { cwd: site }).toSorted((a, b) => a.localeCompare(b))
  const linked = new Set(
    pages.flatMap((page) =>
      [...targetsOf(readFileSync(join(site, page), 'utf8'))].flatMap((target) => {
        const file = /^[\w+.-]+:/u.test(target) ? undefined : fileAt(site, page, target.split('#')[0] ?? '')
        return file === undefined || file === page ? [] : [file]
      }),
    ),
  )
  return pages.filter((page) => !linked.has(page) && page !== '404.html' && page !== 'index.html')
}
