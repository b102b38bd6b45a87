/** The root layout, without which Next builds no application. */
export default function Layout({ children }) {
  return children
}
